"""The list of files to leave out of a training: one key a line, sorted, `#` before a comment.

A key that is more than plain letters (one with a line break, say) stands as a JSON string in quotes, so that every name
a file can have fits on a line.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.errors import UserError
from vitlab.files import write_text

if TYPE_CHECKING:
    from vitlab.data.sources.source import Source

_LARGEST = 1 << 30  # bytes


def write_quarantine(path: Path, keys: Iterable[str], command: str) -> None:
    """Write the list, with the command that made it; whole or not at all."""
    head = [
        "# Files that training leaves out, one a line; names are relative to the data.",
        f"# {' '.join(command.split())}",
    ]
    write_text(path, "\n".join([*head, *(_written(key) for key in sorted(set(keys)))]) + "\n")


def read_quarantine(path: Path) -> frozenset[str]:
    """The keys in a list."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path} is too large for a list of files to leave out")
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text; `vitlab check DATA --quarantine FILE` writes such a list") from None
    stripped = [line.removesuffix("\r") for line in lines]
    return frozenset(_key(path, i, line) for i, line in enumerate(stripped, 1) if line.strip() and line[0] != "#")


def without(source: "Source", keys: Collection[str]) -> "Source":
    """The source without the samples of these keys; keys that it does not have are no matter."""
    splits, left_out = {}, 0
    for split, samples in source.splits.items():
        kept = [i for i, key in enumerate(samples.keys) if key not in keys]
        left_out += len(samples) - len(kept)
        if len(kept) < len(samples):
            samples = samples.at(kept)
        if split == "train" and (gone := sorted(set(source.splits[split].labels) - set(samples.labels))):
            raise UserError(
                f"nothing is left of the class {source.classes[gone[0]]!r} of {source.name} without the files to "
                "leave out; mend some of them, or take the class away"
            )
        if len(samples):
            splits[split] = samples
    return replace(source, splits=splits, left_out=left_out)


def digest(keys: Collection[str]) -> str:
    """A hash of a list, to know the same one again."""
    return hashlib.sha256(json.dumps(sorted(keys)).encode()).hexdigest()[:16]


def _written(key: str) -> str:
    plain = key.isprintable() and key == key.strip() and key[:1] not in ("#", '"')
    return key if plain else json.dumps(key)


def _key(path: Path, number: int, line: str) -> str:
    if not line.startswith('"'):
        return line
    try:
        key = json.loads(line)
    except ValueError:
        key = None
    if not isinstance(key, str):
        raise UserError(f"{path} has a broken name in line {number}; a name in quotes is a JSON string")
    return key
