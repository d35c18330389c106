"""A gzip file read piece by piece, with a bound on what may come out of it.

A kilobyte of gzip swells to a megabyte, and the standard library reads the name in a header byte by byte for as long as
it pleases. Here zlib does all of it, and no call gives more than was asked for.
"""

import zlib
from pathlib import Path
from typing import BinaryIO

from vitlab.data.sources.published import AGAIN
from vitlab.errors import UserError

CHUNK = 1 << 16
SWELL = 1032  # times its length is the most that deflate can make of a file


class Gunzip:
    """What `tarfile` and our readers want of a file: `read(size)`; a damaged or cut file is a sentence."""

    def __init__(self, path: Path, handle: BinaryIO, most: int) -> None:
        self.path, self.most = path, most
        self._handle, self._left = handle, most
        self._inflate = zlib.decompressobj(wbits=31)
        self._rest = b""  # compressed bytes not yet eaten

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        out = bytearray()
        while len(out) < size:
            if self._inflate.eof:  # zeros may follow, as tapes have them, and another compressed part
                self._rest = self._rest.lstrip(b"\0")
            if not self._rest and not self._refill():
                break
            if self._inflate.eof:
                if not self._rest.startswith(b"\0"):
                    self._inflate = zlib.decompressobj(wbits=31)
                continue
            out += self._next(size - len(out))
        return bytes(out)

    def _refill(self) -> bool:
        self._rest = self._handle.read(CHUNK)
        if not self._rest and not self._inflate.eof:
            raise UserError(f"{self.path} is cut short; {AGAIN}")
        return bool(self._rest)

    def _next(self, size: int) -> bytes:
        try:
            piece = self._inflate.decompress(self._rest, min(size, CHUNK))
        except zlib.error:
            raise UserError(f"{self.path} is a damaged gzip file; {AGAIN}") from None
        self._rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        self._left -= len(piece)
        if self._left < 0:
            raise UserError(
                f"{self.path} swells to more than {self.most / 2**20:,.0f} MiB; it is not what it is named for"
            )
        return piece
