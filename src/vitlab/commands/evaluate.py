"""vitlab evaluate: how often a trained model is right."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vitlab.bundle_path import check_bundle
from vitlab.commands.flags import MaybeData, MaybePath, RunPath, Switch
from vitlab.data.origin import Origin
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.analysis.accuracy import Evaluation
    from vitlab.bundle import Bundle


def evaluate(
    run: RunPath,
    data: MaybeData = None,
    /,
    *,
    split: Literal["test", "val", "train"] = "test",
    root: MaybePath = None,
    fetch: Switch = False,
    quarantine: MaybePath = None,
    mirrored: Switch = False,
) -> "Evaluation":
    """Count how often a trained model is right, on the images it was tested with or on others.

    Args:
        run: A run's folder or a bundle.
        data: Images with the same classes, as for `vitlab train`; the run's own if not given.
        split: Which of its images.
        root: Folder with the files of a data set known by name; $VITLAB_DATA or data/ if not given.
        fetch: Get those files from their published address where they are missing.
        quarantine: A list of files to leave out; for the run's own images the one that training left out.
        mirrored: Average each answer with that for the mirror image; the result says so.
    """
    check_bundle(run)
    folder = None if root is None else Path(root)
    listed = None if quarantine is None else Path(quarantine)
    if data is not None:
        Origin(data, folder, fetch, listed).check()

    from vitlab.analysis import accuracy
    from vitlab.bundle import load
    from vitlab.data import memory
    from vitlab.data.splits import open_splits

    bundle = load(run)
    origin = _trained_on(bundle, folder, fetch, listed) if data is None else Origin(data, folder, fetch, listed)
    source = open_splits(origin)
    if source.classes != bundle.classes:
        raise UserError(
            f"{source.name} has the classes {_some(source.classes)}, the model knows {_some(bundle.classes)}; "
            "give data with the same classes in the same order"
        )
    pictures = memory.load(source.splits[split], bundle.card.preprocess)
    return accuracy.evaluate(bundle, pictures, split, mirrored)


def _trained_on(bundle: "Bundle", root: Path | None, fetch: bool, listed: Path | None) -> Origin:
    """The data of the training, where they still are."""
    named = bundle.card.data.get("source")
    if named is None:
        raise UserError("the bundle does not say which data it was trained on; name the data to evaluate on")
    known = bundle.card.data.get("root")
    origin = Origin(str(named), root or (Path(str(known)) if known else None), fetch)
    try:
        origin.check()
    except UserError:
        raise UserError(f"the data of the training, {named!r}, are not here; name the data to evaluate on") from None
    return replace(origin, quarantine=_same_list(bundle, listed))


def _same_list(bundle: "Bundle", listed: Path | None) -> Path | None:
    """The list that training left out: with another one, images trained on could be among those held out."""
    from vitlab.data.quarantine import digest, read_quarantine

    known = bundle.card.data.get("quarantine")
    if not isinstance(known, dict):
        if listed is not None:
            raise UserError(f"the training left out no list, so that {listed} cannot be; leave --quarantine away")
        return None
    path = listed or Path(str(known.get("file")))
    if not path.is_file():
        raise UserError(f"the list that the training left out, {path}, is not here; say with --quarantine where it is")
    if digest(read_quarantine(path)) != known.get("digest"):
        raise UserError(f"{path} is not the list that the training left out; bring that one back, or name other data")
    return path


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
