"""The content of one image file, wherever it lies: on a disk, or inside another file (a shard, a table)."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from vitlab.data.decode import Picture, decode, decode_bytes


@dataclass(frozen=True)
class Held:
    """A name to speak of it by, the suffix that it claims its format with, and two ways to open it."""

    name: str
    suffix: str
    open: Callable[[], BinaryIO]
    decode: Callable[[], Picture]


def on_disk(path: Path) -> Held:
    """A file of its own."""
    return Held(str(path), path.suffix, lambda: path.open("rb"), lambda: decode(path))


def in_memory(name: str, content: bytes) -> Held:
    """A part of another file, read."""
    return Held(name, PurePosixPath(name).suffix, lambda: io.BytesIO(content), lambda: decode_bytes(content, name))
