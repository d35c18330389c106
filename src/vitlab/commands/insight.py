"""Questions about the model over many images: which explanation to believe, and what its parts have become."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Union

from vitlab.commands.explained import Where, opened, put
from vitlab.errors import UserError
from vitlab.files import write_text

if TYPE_CHECKING:
    from vitlab.bundle import Bundle
    from vitlab.explain.anatomy.everything import Anatomy
    from vitlab.explain.fidelity import Fidelity
    from vitlab.explain.methods.method import Method

_LEARNED = 2000  # training images that probes learn from


@dataclass(frozen=True)
class Insight:
    """The answer, and where it was written, if it was. `missing` says why a picture is not there."""

    answer: Union["Fidelity", "Anatomy"]
    pictures: tuple[Path, ...] = field(default=())
    missing: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        return self.answer.to_json()

    def __str__(self) -> str:
        lines = [str(self.answer), *(f"no picture: {why}" for why in self.missing)]
        return "\n".join([*lines, *(f"picture  {path}" for path in self.pictures)])


def judged(bundle: "Bundle", where: Where, count: int, methods: Sequence["Method"], folder: Path | None) -> Insight:
    """Deletion and insertion of every method on some of the data."""
    from vitlab.explain.choose import sample
    from vitlab.explain.drawing.fidelity import curves
    from vitlab.explain.fidelity import fidelity

    pictures = sample(opened(bundle, where), count, bundle.card.preprocess)
    found = fidelity(bundle, pictures.images, methods, _tell)
    if folder is None:
        return Insight(found)
    written = put(folder, {"fidelity.png": curves(found)})
    write_text(folder / "fidelity.json", found.to_json() + "\n")
    return Insight(found, written)


def dissected(bundle: "Bundle", where: Where, count: int, run: Path | None, folder: Path | None) -> Insight:
    """Heads, probes, positions and filters; how they came about, where the training was watched."""
    from vitlab.explain.anatomy.everything import anatomy
    from vitlab.explain.choose import sample
    from vitlab.explain.drawing import anatomy as drawing
    from vitlab.explain.drawing import epochs, weights
    from vitlab.explain.epochs import FILE

    known, held = (
        sample(opened(bundle, where, "train"), _LEARNED, bundle.card.preprocess),
        sample(opened(bundle, where), count, bundle.card.preprocess),
    )
    found = anatomy(bundle, known, held, _tell)
    if folder is None:
        return Insight(found)
    drawn: dict[str, bytes | None] = {"heads.png": drawing.heads(found), "probes.png": drawing.probes(found)}
    missing = []
    others: dict[str, Callable[[], bytes]] = {
        "positions.png": lambda: weights.positions(bundle.model),
        "filters.png": lambda: weights.filters(bundle.model),
    }
    if run is not None:
        others["epochs.png"] = lambda: epochs.draw(run / FILE)
    for name, draw in others.items():
        try:
            drawn[name] = draw()
        except UserError as error:
            missing.append(f"{name}: {error}")
    written = put(folder, drawn)
    write_text(folder / "anatomy.json", found.to_json() + "\n")
    return Insight(found, written, tuple(missing))


def _tell(what: str) -> None:
    """What is being done, where a person watches."""
    if sys.stderr.isatty():
        print(f"  {what}", file=sys.stderr)
