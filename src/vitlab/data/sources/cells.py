"""Cells of pyarrow tables as what a source wants: labels, and the bytes of a picture with its name.

pyarrow is imported here alone, when a table is opened; the extra `hub` brings it.
"""

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.data.sources.labelled import Label

# What the footer of a Parquet file may claim before it is believed.
_LIMITS = {"thrift_string_size_limit": 1 << 26, "thrift_container_size_limit": 1 << 20}


def check_pyarrow(what: str) -> None:
    """Refuse at once what wants pyarrow where it is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UserError(f"{what}, for which pyarrow is missing; pip install 'vitlab[hub]'")


def module(name: str) -> Any:
    return importlib.import_module(name)


def parquet_file(path: Path) -> Any:
    """A Parquet file opened, to be used and closed in a `with`."""
    return module("pyarrow.parquet").ParquetFile(path, **_LIMITS)


@contextmanager
def sensible(path: Path, kind: str) -> Iterator[None]:
    """Whatever pyarrow raises on a stranger's bytes, as one sentence."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        if error.errno is None:
            raise _unreadable(path, kind, error) from None
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # its own kinds, and many of Python's
        raise _unreadable(path, kind, error) from None


def _unreadable(path: Path, kind: str, error: Exception) -> UserError:
    return UserError(f"{path} is no {kind} file that can be read ({reason(error)}); write it again")


def reason(error: Exception) -> str:
    """What another library raised, to be put into a sentence."""
    words = "".join(letter if letter.isprintable() else " " for letter in str(error)).split()
    return " ".join(words)[:120].rstrip(".") or type(error).__name__


def labels(column: Any) -> "list[Label]":
    """The labels of a column, as words or whole numbers."""
    return [cell if cell is None or isinstance(cell, int | str) else str(cell) for cell in column.to_pylist()]


def picture(cell: Any, key: str, below: Sequence[Path] = ()) -> tuple[str, bytes]:
    """Name and bytes of a picture; one that lies outside the table is read from below these folders alone."""
    found = cell.as_py()
    held, path = (found.get("bytes"), found.get("path")) if isinstance(found, dict) else (found, None)
    suffix = Path(path).suffix if isinstance(path, str) and path.isprintable() and len(path) < 4096 else ""
    if held is not None:
        return key + suffix, held
    if isinstance(path, str) and "\0" not in path:
        place = Path(path).resolve()
        if any(place.is_relative_to(folder) for folder in below):
            return key + suffix, _content(place, key)
    raise UserError(f"{key} holds no picture but {'the path of one' if path else 'nothing'}; write the pictures too")


def _content(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{key} cannot be read: {error.strerror or error}") from None
