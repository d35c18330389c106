"""Splits and classes of a folder of images, from the names of its folders alone, so that it is refused at once."""

from pathlib import Path

from vitlab.data.listing import folders_in
from vitlab.errors import UserError

SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def layout(root: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The folder of each split, and the classes: names of the folders inside, sorted, the same in every split."""
    splits: dict[str, Path] = {}
    for top in folders_in(root):
        split = SPLITS.get(top.name.lower())
        if split in splits:
            raise UserError(f"{root} holds {splits[split].name} and {top.name}, both for {split}; keep one of them")
        if split is not None:
            splits[split] = top
    if "train" not in splits:
        splits = {"train": root}
    classes = tuple(sorted({inner.name for top in splits.values() for inner in folders_in(top)}))
    if len(classes) < 2:
        found = f"only the class {classes[0]!r}" if classes else "no class folders"
        raise UserError(f"{root} holds {found}; a classifier wants at least two folders of images, one for each class")
    return splits, classes
