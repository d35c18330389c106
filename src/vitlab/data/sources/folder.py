"""A folder with one folder of images for each class, with or without train, val and test above them."""

import os
from pathlib import Path

from vitlab.data.decode import SUFFIXES, decode, files_below
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def folder(root: Path) -> Source:
    """The images below `root`; classes are the folders' names in sorted order, the same in every split."""
    tops = _folders(root)
    splits = {SPLITS[top.name.lower()]: top for top in tops if top.name.lower() in SPLITS}
    if "train" not in splits:
        splits = {"train": root}
    classes = tuple(sorted({inner.name for top in splits.values() for inner in _folders(top)}))
    if len(classes) < 2:
        found = f"only the class {classes[0]!r}" if classes else "no class folders"
        raise UserError(f"{root} holds {found}; a classifier wants at least two folders of images, one for each class")
    return Source(root.name, classes, {split: _samples(root, top, classes) for split, top in splits.items()})


def _samples(root: Path, top: Path, classes: tuple[str, ...]) -> Samples:
    files, labels = [], []
    for label, name in enumerate(classes):
        inner = top / name
        found = files_below(inner) if inner.is_dir() else []
        files += found
        labels += [label] * len(found)
    if len(set(labels)) < 2:
        raise UserError(
            f"{top} holds images of {len(set(labels))} classes; put images ({', '.join(sorted(SUFFIXES))}) "
            "into at least two of its folders"
        )
    keys = tuple(path.relative_to(root).as_posix() for path in files)
    return Samples(keys, tuple(labels), lambda i: decode(files[i]))


def _folders(top: Path) -> list[Path]:
    try:
        return sorted(Path(entry) for entry in os.scandir(top) if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise UserError(f"cannot read {top}: {error.strerror}") from None
