"""A data set as `datasets` saves it to a disk: Arrow files that are mapped, and JSON that names them."""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from vitlab.data.sources.cells import check_pyarrow, labels, module, picture, sensible
from vitlab.data.sources.columns import Columns, columns
from vitlab.data.sources.labelled import Pictures, labelled
from vitlab.data.sources.layout import SPLITS
from vitlab.data.sources.source import Source
from vitlab.errors import UserError

MARKS = ("dataset_dict.json", "state.json")
_LARGEST_JSON = 1 << 26
T = TypeVar("T")


def saved(root: Path) -> Source:
    """The data set in a folder: one split, or a folder for each of several."""
    check_pyarrow(f"{root} holds Arrow files")
    splits, said = known_splits(_folders(root))
    tables = {split: [_table(path) for path in _files(folder)] for split, folder in splits.items()}
    return of_tables(root.resolve().name, tables, said)


def known_splits(named: Mapping[str, T]) -> tuple[dict[str, T], list[str]]:
    """What is of train, val and test, by any of their names; of the rest it is said that it is passed over."""
    known, said = dict[str, T](), []
    for name, held in named.items():
        split = SPLITS.get(name.lower())
        if split is None or split in known:
            said.append(f"its split {name[:60]!r} is passed over")
        else:
            known[split] = held
    return known, said


def of_tables(
    name: str, tables: Mapping[str, list[Any]], said: Sequence[str] = (), below: Sequence[Path] = ()
) -> Source:
    """The source of pyarrow tables by split; pictures that they name by a path are read from `below` alone."""
    chosen: Columns | None = None
    splits = {}
    for split, held in tables.items():
        for table in held:
            here = columns(table.schema, f"{split} of {name}")
            if chosen is not None and here != chosen:
                raise UserError(f"{split} of {name} has other columns or classes than the rest; they are not one")
            chosen = here
        if chosen is not None:
            splits[split] = _pictures(split, held, chosen, below)
    if chosen is None:
        raise UserError(f"{name} has none of the splits train, val and test; there is nothing to train on")
    return labelled(name, splits, chosen.names, said)


def _pictures(split: str, tables: Sequence[Any], chosen: Columns, below: Sequence[Path]) -> Pictures:
    chunks = [chunk for table in tables for chunk in table.column(chosen.picture).chunks if len(chunk)]
    starts = [0, *accumulate(map(len, chunks))]
    found = [label for table in tables for label in labels(table.column(chosen.label))]
    keys = tuple(f"{split}/{i:06d}" for i in range(len(found)))

    def content(i: int) -> tuple[str, bytes]:
        number = bisect_right(starts, i) - 1
        return picture(chunks[number][i - starts[number]], keys[i], below)

    parts = tuple(number for number, chunk in enumerate(chunks) for _ in range(len(chunk)))
    return Pictures(keys, found, content, parts)


def _folders(root: Path) -> dict[str, Path]:
    if not (root / MARKS[0]).is_file():
        return {"train": root}
    names = _json(root / MARKS[0]).get("splits")
    if not isinstance(names, list) or not all(_plain(name) for name in names):
        raise UserError(f"{root / MARKS[0]} does not list its splits; save the data set again")
    return {name: root / name for name in names}


def _files(folder: Path) -> list[Path]:
    state = _json(folder / MARKS[1])
    named = state.get("_data_files")
    if not isinstance(named, list) or not all(isinstance(one, dict) and _plain(one.get("filename")) for one in named):
        raise UserError(f"{folder / MARKS[1]} does not list its files; save the data set again")
    if state.get("_indices_data_files"):
        raise UserError(f"{folder} was saved with a selection by an old version of datasets; flatten and save it again")
    return [folder / one["filename"] for one in named]


def _plain(name: Any) -> bool:
    """Whether it is the name of something right in a folder, and no way out of it."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0") and len(name) < 256


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not what `datasets` writes; save the data set again") from None
    return found


def _table(path: Path) -> Any:
    """A mapped table, whose offsets are looked at before anything follows them."""
    pyarrow, ipc = module("pyarrow"), module("pyarrow.ipc")
    with sensible(path, "Arrow"):
        table = ipc.open_stream(pyarrow.memory_map(str(path))).read_all()
        table.validate(full=True)
        return table
