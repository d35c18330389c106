"""A folder with one folder of images for each class, with or without train, val and test above them."""

from pathlib import Path

from vitlab.data.decode import decode
from vitlab.data.listing import SUFFIXES, files_below
from vitlab.data.sources.layout import layout
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError


def folder(root: Path) -> Source:
    """The images below `root`; classes are the folders' names in sorted order, the same in every split."""
    splits, classes = layout(root)
    name = root.resolve().name or "images"
    return Source(name, classes, {split: _samples(root, top, classes, split) for split, top in splits.items()})


def _samples(root: Path, top: Path, classes: tuple[str, ...], split: str) -> Samples:
    found_keys, labels = list[str](), list[int]()
    for label, name in enumerate(classes):
        inner = top / name
        found = files_below(inner) if inner.is_dir() else []
        found_keys += [path.relative_to(root).as_posix() for path in found]  # a million paths take more memory
        labels += [label] * len(found)
    if len(set(labels)) < 2:
        count = ("no images", "images of one class only")[len(set(labels))]
        raise UserError(
            f"{top} holds {count}; put images ({', '.join(sorted(SUFFIXES))}) into at least two of its folders"
        )
    if split == "train" and (unseen := [name for label, name in enumerate(classes) if label not in set(labels)]):
        raise UserError(
            f"{top} holds no images of the class {unseen[0]!r}, which could never be learned; "
            "add some, or take its folder away"
        )
    keys = tuple(found_keys)
    return Samples(keys, tuple(labels), lambda i: decode(root / keys[i]), file=lambda i: root / keys[i])
