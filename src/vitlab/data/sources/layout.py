"""Splits and classes of a folder of images, from the names of its folders alone, so that it is refused at once."""

import os
import re
from collections.abc import Iterable
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


def by_split(root: Path, files: Iterable[Path]) -> dict[str, list[Path]]:
    """Files below a folder by the split that their name says, or else their folder's; all are train's if none says."""
    found: dict[str, list[Path]] = {}
    for path in files:
        found.setdefault(_named_split(path.relative_to(root)) or "", []).append(path)
    if "" in found and len(found) > 1:
        raise UserError(
            f"{found[''][0]} says nothing of train, val or test in its name, as others in {root} do; "
            "rename it, or take it away"
        )
    return {split or "train": paths for split, paths in found.items()}


def packed(root: Path, suffix: str) -> list[Path]:
    """The files that end so in a folder, or at most two folders below, sorted."""
    found = []
    for folder, inner, files in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        inner[:] = [] if depth == 2 else [name for name in inner if not name.startswith(".")]
        found += [Path(folder, name) for name in files if name.lower().endswith(suffix) and not name.startswith(".")]
    return sorted(found)


def _named_split(path: Path) -> str | None:
    """`pets-train-0001.tar` and `train/0001.tar` are train's: the last word that names a split, of the file first."""
    for part in reversed([*path.parts[:-1], path.stem]):
        for word in reversed(re.findall("[a-z]+", part.lower())):
            if word in SPLITS:
                return SPLITS[word]
    return None
