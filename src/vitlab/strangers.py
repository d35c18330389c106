"""Files that anyone may have written, each mistake in them one sentence.

JSON is bounded in size, headers of safetensors are held against the file's length, models may not exist.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vitlab.errors import UserError

_LARGEST_JSON = 64 * 2**20


def read_json(path: Path, what: str, again: str) -> Any:
    """What a JSON file holds; `what` it should have been, and how to get it `again`, are for the sentence."""
    try:
        too_large = path.stat().st_size > _LARGEST_JSON
        text = "" if too_large else path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is no text; {again}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if too_large:
        limit = _LARGEST_JSON >> 20
        kind, _, owner = what.partition(" of ")
        raise UserError(f"{path} is larger than any {kind} is ({limit} MiB); it is none{owner and f' of {owner}'}")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path} is not whole JSON ({error.msg.lower()} in {where}); {again}") from None
    except (ValueError, RecursionError):  # a number of too many digits, lists in lists in lists
        raise UserError(f"{path} is no {what}; {again}") from None


@contextlib.contextmanager
def safetensors(path: Path, again: str) -> Iterator[Any]:
    """A safetensors file, open; the library holds its header against its length. How to get it `again` is said."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        reason = plain(str(error).rpartition("header: ")[2])
        raise UserError(f"{path} is truncated or no safetensors file ({reason}); {again}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def shapes(file: Any) -> dict[str, tuple[int, ...]]:
    """Names and shapes in an open safetensors file, without its numbers."""
    return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  not a dict


@contextlib.contextmanager
def sensible(path: Path | str) -> Iterator[None]:
    """Whatever a stranger's description makes of the parts it names is one sentence about the file."""
    from pydantic import ValidationError

    from vitlab.errors import explain_invalid

    try:
        yield
    except ValidationError as error:
        raise explain_invalid(error, str(path)) from None
    except UserError:
        raise
    except Exception as error:  # a negative deviation, a width beyond any number: torch raises what it likes
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise UserError(f"{path} describes a model that cannot be built ({reason[:120]})") from None


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def plain(text: str) -> str:
    """A stranger's words without what would take hold of a terminal."""
    return re.sub(r"[^\x20-\x7e\u00a0-\uffff]", "?", text)[:200]
