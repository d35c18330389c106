"""The data that a bundle is tried on: those of its training where they still are, or others with the same classes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.strangers import some

if TYPE_CHECKING:
    from vitlab.bundle import Bundle
    from vitlab.data.sources.source import Source


def same_classes(bundle: "Bundle", data: str | None, root: Path | None, fetch: bool, listed: Path | None) -> "Source":
    """The data named, or those of the training, with their splits; refused where the classes are not the model's."""
    from vitlab.data.splits import open_splits

    origin = _trained_on(bundle, root, fetch, listed) if data is None else Origin(data, root, fetch, listed)
    source = open_splits(origin)
    if source.classes != bundle.classes:
        raise UserError(
            f"{source.name} has the classes {some(source.classes, 5)}, the model knows {some(bundle.classes, 5)}; "
            "give data with the same classes in the same order"
        )
    return source


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
