"""The rows of a list of images: a CSV or Parquet file with the columns path, label and, if the data are split, split.

Reading them imports nothing heavy for CSV; Parquet wants pyarrow, which the extra `hub` brings. Other columns are left
alone.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from vitlab.data.available import too_much
from vitlab.data.sources.cells import check_pyarrow, parquet_file, sensible
from vitlab.errors import UserError, nearest

SUFFIXES = (".csv", ".parquet")
MOST_ROWS = 100_000_000
_LONGEST_LINE = 1 << 16
_WANTED, _ALSO = ("path", "label"), "split"
_ROW_BYTES = 12  # times its length on disk that a list takes in memory, about


@dataclass(frozen=True)
class Row:
    """A line of the list: its number, as an editor counts, and its cells as they are written."""

    number: int
    path: str
    label: str
    split: str


def check_list(path: Path) -> None:
    """Refuse at once a list that cannot be read for want of pyarrow or of columns."""
    if path.suffix.lower() == ".csv":
        with path_opened(path) as handle:
            _columns(path, next(_csv(path, handle), []))
    else:
        check_pyarrow(f"{path} is a Parquet file")


def rows(path: Path) -> Iterator[Row]:
    """Each row with something in it."""
    if need := too_much(_ROW_BYTES * path.stat().st_size):
        raise UserError(f"{path} is a list that takes {need}; split it")
    yield from _csv_rows(path) if path.suffix.lower() == ".csv" else _parquet_rows(path)


def path_opened(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _csv_rows(path: Path) -> Iterator[Row]:
    with path_opened(path) as handle:
        lines = _csv(path, handle)
        columns = _columns(path, next(lines, []))
        last = max(columns.values())
        for number, cells in enumerate(lines, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) <= last:
                raise UserError(f"{path} has {len(cells)} cells in row {number}, where {last + 1} are wanted")
            split = cells[columns[_ALSO]] if _ALSO in columns else ""
            yield Row(number, cells[columns["path"]], cells[columns["label"]], split)


def _csv(path: Path, handle: TextIO) -> Iterator[list[str]]:
    try:
        yield from csv.reader(_lines(path, handle), strict=True)
    except csv.Error as error:
        raise UserError(f"{path} is no CSV file that can be read ({error}); write it with commas and quotes") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _lines(path: Path, handle: TextIO) -> Iterator[str]:
    """Lines of a bounded length: a file that is all one line would be read whole."""
    while line := handle.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise UserError(f"{path} has a line of more than {_LONGEST_LINE:,} characters; it is no list of images")
        yield line


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    """Where the columns are, by the names in the first row."""
    names = [name.strip().lower() for name in header]
    for wanted in (*_WANTED, _ALSO):
        if names.count(wanted) > 1:
            raise UserError(f"{path} has {names.count(wanted)} columns {wanted}; keep one")
        if wanted not in names and wanted in _WANTED:
            close = nearest(wanted, [name for name in names if name.isprintable() and len(name) < 40])
            raise UserError(f"{path} has no column {wanted}; its first row wants the names path,label[,split]{close}")
    return {name: names.index(name) for name in (*_WANTED, _ALSO) if name in names}


def _parquet_rows(path: Path) -> Iterator[Row]:
    check_list(path)
    with sensible(path, "Parquet"), parquet_file(path) as file:
        schema = file.schema_arrow
        columns = _columns(path, list(schema.names))
        _check_kinds(path, schema, columns)
        if file.metadata.num_rows > MOST_ROWS:
            raise UserError(f"{path} claims {file.metadata.num_rows:,} rows; split it")
        named = {name: schema.names[at] for name, at in columns.items()}
        number = 0
        for batch in file.iter_batches(batch_size=1 << 14, columns=list(named.values())):
            cells = {name: batch.column(title).to_pylist() for name, title in named.items()}
            splits = cells.get(_ALSO, [None] * len(batch))
            for path_label_split in zip(cells["path"], cells["label"], splits, strict=True):
                number += 1
                yield Row(number, *("" if cell is None else str(cell) for cell in path_label_split))


def _check_kinds(path: Path, schema: Any, columns: dict[str, int]) -> None:
    for name, at in columns.items():
        kind = str(schema.types[at])
        kind = kind.removeprefix("dictionary<values=").partition(",")[0]
        words = kind in ("string", "large_string", "string_view")
        if not words and not (name == "label" and kind.startswith(("int", "uint"))):
            wanted = "words or whole numbers" if name == "label" else "words"
            raise UserError(f"{path} has {kind[:60]} in the column {name}, which wants {wanted}")
