"""A list of images in a CSV or Parquet file: path,label[,split], the paths relative to the folder of the list.

A list names files, so it is not trusted with that: a path that is absolute or goes up is refused, and every file has to
be there before training begins.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from vitlab.data.decode import decode
from vitlab.data.sources.labelled import in_order
from vitlab.data.sources.layout import SPLITS
from vitlab.data.sources.rows import Row, rows
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError, nearest

_LONGEST_LABEL = 200


def table(path: Path) -> Source:
    """The images that a list names; classes are its labels, sorted: as numbers if all of them are."""
    listed: dict[str, tuple[str, str]] = {}  # the path as it is used, with label and split
    seen: dict[str, int] = {}
    for row in rows(path):
        key = _key(path, row)
        if key in listed:
            raise UserError(f"{path} lists {key!r} twice, in rows {seen[key]} and {row.number}; keep one of them")
        listed[key], seen[key] = (_label(path, row), _split(path, row)), row.number
    if not listed:
        raise UserError(f"{path} lists no images; it wants one row for each, under path,label[,split]")
    _check_there(path, listed)
    classes = in_order({label for label, _ in listed.values()})
    splits = {split for _, split in listed.values()}
    _check_classes(path, listed.values(), classes)
    number = {name: i for i, name in enumerate(classes)}
    ordered = [split for split in ("train", "val", "test") if split in splits]
    return Source(
        path.stem or "list",
        classes,
        {split: _samples(path, {k: number[v[0]] for k, v in listed.items() if v[1] == split}) for split in ordered},
    )


def _key(path: Path, row: Row) -> str:
    """The path that a row names, as it names the sample for good."""
    named = Path(row.path.strip())
    if not row.path.strip() or "\0" in row.path:
        raise UserError(f"{path} has no path in row {row.number}")
    if named.is_absolute() or named.drive or ".." in named.parts:
        raise UserError(
            f"{path} names {row.path[:200]!r} in row {row.number}, which leads out of its folder; "
            "paths are relative to the folder of the list"
        )
    return named.as_posix()


def _label(path: Path, row: Row) -> str:
    label = row.label.strip()
    if not label or not label.isprintable() or len(label) > _LONGEST_LABEL:
        raise UserError(f"{path} has the label {label[:60]!r} in row {row.number}; it wants a word or a whole number")
    return label


def _split(path: Path, row: Row) -> str:
    name = row.split.strip().lower()
    if name and name not in SPLITS:
        known = nearest(name, dict.fromkeys(SPLITS.values()))
        raise UserError(f"{path} has the split {row.split[:60]!r} in row {row.number}{known}")
    return SPLITS[name] if name else "train"


def _check_there(path: Path, keys: Iterable[str]) -> None:
    # os.path's, since Path.is_file raises on a name that is too long.
    missing = [key for key in keys if not os.path.isfile(path.parent / key)]  # noqa: PTH113
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        slash = "; folders are parted by /" if "\\" in missing[0] else ""
        raise UserError(
            f"{path} names {missing[0][:200]!r}{more}, which {'are' if more else 'is'} not in {path.parent}{slash}; "
            "mend the list or bring the files"
        )


def _check_classes(path: Path, listed: Iterable[tuple[str, str]], classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise UserError(f"{path} has only the label {classes[0]!r}; a classifier wants at least two")
    learned = {label for label, split in listed if split == "train"}
    if not learned:
        raise UserError(f"{path} has no row of the split train; name some, or leave the column away")
    if unseen := [name for name in classes if name not in learned]:
        raise UserError(
            f"{path} has no train row with the label {unseen[0]!r}, which could never be learned; "
            "add some, or take its rows away"
        )


def _samples(path: Path, labels: dict[str, int]) -> Samples:
    keys = tuple(labels)
    below = path.parent
    return Samples(keys, tuple(labels.values()), lambda i: decode(below / keys[i]), file=lambda i: below / keys[i])
