"""Pictures inside Parquet files, with their labels: one file, or a folder of them with their splits in their names.

A picture is read with the whole row group it lies in, since the format has no smaller piece; the last few groups are
kept, so that reading in the order of the file, or in an order that stays within some parts of it, reads each once.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from vitlab.data.available import too_much
from vitlab.data.sources.cells import check_pyarrow, labels, parquet_file, picture, sensible
from vitlab.data.sources.columns import Columns, columns
from vitlab.data.sources.labelled import Label, Pictures, labelled
from vitlab.data.sources.layout import by_split, packed
from vitlab.data.sources.source import Source
from vitlab.errors import UserError

KEPT = 1 << 28  # bytes of row groups that are kept
MOST_ROWS = 100_000_000


@dataclass(frozen=True)
class Group:
    """A row group: the part of a Parquet file that is read at once."""

    path: Path
    number: int
    rows: int


def parquet(place: Path) -> Source:
    """The pictures in a Parquet file, or in all those below a folder."""
    check_pyarrow(f"{place} holds Parquet")
    name = place.resolve().stem if place.is_file() else place.resolve().name
    files = {"train": [place]} if place.is_file() else by_split(place, packed(place, ".parquet"))
    chosen: Columns | None = None
    splits = {}
    for split, paths in files.items():
        groups, found = [], list[Label]()
        for path in paths:
            with sensible(path, "Parquet"), parquet_file(path) as file:
                here = columns(file.schema_arrow, str(path))
                if chosen is not None and here != chosen:
                    raise UserError(f"{path} has other columns or classes than {paths[0]}; they are not one data set")
                chosen = here
                groups += _groups(path, file)
                found += _labels(path, file, here.label)
        assert chosen is not None
        splits[split] = _pictures(split, groups, found, chosen.picture)
    assert chosen is not None
    return labelled(name, splits, chosen.names)


def schema_of(path: Path) -> Any:
    """The schema of a Parquet file."""
    check_pyarrow(f"{path} is a Parquet file")
    with sensible(path, "Parquet"), parquet_file(path) as file:
        return file.schema_arrow


def _groups(path: Path, file: Any) -> list[Group]:
    metadata = file.metadata
    groups = [Group(path, i, metadata.row_group(i).num_rows) for i in range(metadata.num_row_groups)]
    if metadata.num_rows > MOST_ROWS or any(not 0 <= group.rows <= MOST_ROWS for group in groups):
        raise UserError(f"{path} claims {metadata.num_rows:,} rows; split it")
    return [group for group in groups if group.rows]


def _labels(path: Path, file: Any, column: str) -> list[Label]:
    found = list[Label]()
    for batch in file.iter_batches(batch_size=1 << 14, columns=[column]):
        found += labels(batch.column(0))
        if len(found) > file.metadata.num_rows:
            break
    if len(found) != file.metadata.num_rows:
        raise UserError(f"{path} has {len(found):,} labels where it claims {file.metadata.num_rows:,}; write it again")
    return found


def _pictures(split: str, groups: Sequence[Group], found: Sequence[Label], column: str) -> Pictures:
    reader = _Reader(groups, column)
    keys = tuple(f"{split}/{i:06d}" for i in range(len(found)))
    parts = tuple(number for number, group in enumerate(groups) for _ in range(group.rows))
    return Pictures(keys, found, lambda i: picture(reader.cell(i), keys[i]), parts)


class _Reader:
    """Cells of a column by their place in all groups; the groups read last are kept."""

    def __init__(self, groups: Sequence[Group], column: str) -> None:
        self.groups, self.column = groups, column
        self.starts = [0, *accumulate(group.rows for group in groups)]
        self.kept: OrderedDict[int, Any] = OrderedDict()
        self.lock = threading.Lock()

    def cell(self, i: int) -> Any:
        number = bisect_right(self.starts, i) - 1
        with self.lock:
            if number not in self.kept:
                self.kept[number] = self._read(self.groups[number])
                while len(self.kept) > 1 and sum(held.nbytes for held in self.kept.values()) > KEPT:
                    self.kept.popitem(last=False)
            self.kept.move_to_end(number)
            held = self.kept[number]
        return held[i - self.starts[number]]

    def _read(self, group: Group) -> Any:
        with sensible(group.path, "Parquet"), parquet_file(group.path) as file:
            size = file.metadata.row_group(group.number).total_byte_size
            if need := too_much(size):
                raise UserError(f"{group.path} has {group.rows:,} rows in one group, which takes {need}; write it anew")
            held = file.read_row_group(group.number, columns=[self.column], use_threads=False).column(0)
            held.validate(full=True)
        if len(held) != group.rows:
            raise UserError(f"{group.path} has {len(held):,} pictures where it claims {group.rows:,}; write it again")
        return held
