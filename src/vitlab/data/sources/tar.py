"""Where the files lie in a tar file, by its headers alone: nothing is unpacked, and no name is ever a path to write to.

A `TarFile` of the standard library follows links, chains of long names and sizes as far as it is told to, so headers
are taken one by one here: plain, GNU's and POSIX's, whose long names are held to a bound.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vitlab.errors import UserError

MOST_MEMBERS = 20_000_000
_LONGEST_NAME = 1 << 12
_LARGEST_RECORDS = 1 << 16  # bytes of a POSIX header with names of any length
_EMPTY = (tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\xfd7": "xz", b"\x28\xb5": "zstd"}


@dataclass(frozen=True)
class Member:
    """A file in a tar file: its name, where its bytes begin, and how many there are."""

    name: str
    offset: int
    size: int
    whole: bool = True  # else the tar file ends before it does, and `size` is what is there


class DamagedError(Exception):
    """A header that cannot be read; what came before it can be used."""


def members(path: Path) -> Iterator[Member]:
    """The regular files in their order; `DamagedError` where nothing can be known of the rest, an end mark included."""
    with path.open("rb") as handle:
        end = handle.seek(0, 2)
        handle.seek(0)
        _check_plain(path, handle)
        at = count = 0
        given: dict[str, str] = {}  # what a header says of the one after it
        while block := _block(handle, at, end):
            try:
                header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
                size = int(given.get("size", header.size))
            except (tarfile.HeaderError, ValueError):
                raise DamagedError from None
            if size < 0:
                raise DamagedError
            start = at + tarfile.BLOCKSIZE
            here = min(size, end - start)
            if header.type in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                given |= _given(handle, header.type, start, size, here)
            elif header.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE):
                yield Member(_checked(path, given.get("path", header.name)), start, here, here == size)
            if header.type not in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE):
                given = {}
            if header.type not in _EMPTY:
                start += -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            if (count := count + 1) > MOST_MEMBERS:
                raise UserError(f"{path} holds more than {MOST_MEMBERS:,} files; split it")
            at = start


def _check_plain(path: Path, handle: BinaryIO) -> None:
    """Refuse a compressed file: in it there is no place to go to."""
    head = handle.read(2)
    if kind := _COMPRESSED.get(head):
        raise UserError(f"{path} is compressed ({kind}), so that no image of it can be reached alone; decompress it")


def _block(handle: BinaryIO, at: int, end: int) -> bytes:
    """The header at a place; nothing at the end, which is a block of zeros."""
    if at + tarfile.BLOCKSIZE > end:
        raise DamagedError
    handle.seek(at)
    block = handle.read(tarfile.BLOCKSIZE)
    return block if block.strip(b"\0") else b""


def _given(handle: BinaryIO, kind: bytes, start: int, size: int, here: int) -> dict[str, str]:
    """A name, and perhaps a size, for the next header."""
    if size > _LARGEST_RECORDS or here < size:
        raise DamagedError
    handle.seek(start)
    held = handle.read(size)
    if kind == tarfile.GNUTYPE_LONGNAME:
        return {"path": held.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    found = {}
    while held.strip(b"\0"):  # "LENGTH KEY=VALUE\n", the length that of all of it
        digits = held.partition(b" ")[0]
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        key, equals, value = held[len(digits) + 1 : length - 1].partition(b"=")
        if not equals or held[length - 1 : length] != b"\n":
            raise DamagedError
        if key in (b"path", b"size"):
            found[key.decode()] = value.decode("utf-8", "surrogateescape")
        held = held[length:]
    return found


def _checked(path: Path, name: str) -> str:
    """Refuse a name that would lead elsewhere if somebody unpacked it; a leading `./` is nothing."""
    if len(name) > _LONGEST_NAME or "\0" in name or name.startswith("/") or ".." in name.split("/"):
        raise UserError(f"{path} holds {name[:200]!r}, a name that leads out of it; write it again without such names")
    return name.removeprefix("./")
