"""Decoded pictures in one file that is mapped into memory: what was decoded in one epoch is read in all others.

A folder holds `pixels`, one picture after another, and `index`, where each lies. One process writes, which a lock of
the system decides; any number read, and see what is written at once. A picture is in the index only when all of it is
written, so a process may be killed at any time. After the machine itself went down nobody knows what reached the disk:
unless it had been forced there (`sealed`), the cache is begun anew. A full disk ends the writing and nothing else.
"""

import contextlib
import mmap
import os
import sys
import threading
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np

from vitlab.data.feed.feed import Picture
from vitlab.data.feed.locks import lock
from vitlab.data.feed.store import Store
from vitlab.files import saying_why

_MAGIC = b"vitlab pixels 1\n"
_HEADER = np.dtype([("magic", "S16"), ("count", "<u8"), ("channels", "<u8"), ("boot", "S40"), ("sealed", "<u8")])
_RECORD = np.dtype([("offset", "<u8"), ("columns", "<u4"), ("rows", "<u4")])
_ALIGN = 64
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Cache(Store):
    """Pictures of `count` samples with so many channels, in a folder of their own; at most `limit` bytes of them."""

    def __init__(self, folder: Path, count: int, channels: int, limit: int) -> None:
        self.folder, self.count, self.channels, self.limit = folder, count, channels, limit
        self.guard, self.full, self.end = threading.Lock(), False, 0
        self.map: mmap.mmap | None = None
        with saying_why(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.held = [lock(folder / "used", shared=True)]  # as long as it is, nobody takes the cache away
            os.utime(folder / "used")
            writing = lock(folder / "writing", wait=False)
            self.writes = writing is not None
            if writing is not None:
                self.held.append(writing)
                self._begin()
            self._open()
        if self.writes:
            weakref.finalize(self, _seal, self.file, self.index_file)

    def get(self, position: int) -> Picture | None:
        if self.index is None:
            return None
        rows = int(self.index["rows"][position])  # written last: where it is there, so is all else
        if not rows:
            return None
        columns, start = int(self.index["columns"][position]), int(self.index["offset"][position])
        size = rows * columns * self.channels
        mapped = self._mapped(start + size)
        if mapped is None:
            return None
        return np.frombuffer(mapped, np.uint8, size, start).reshape(rows, columns, self.channels)

    def put(self, position: int, picture: Picture) -> None:
        if not self.writes or self.full:
            return
        content = np.ascontiguousarray(picture)
        with self.guard:
            start, self.end = self.end, self.end + -(-content.nbytes // _ALIGN) * _ALIGN
        if self.end > self.limit:
            self._stop("it has reached the size it may have")
            return
        try:
            _write(self.file.fileno(), content.data.cast("B"), start)
        except OSError as error:
            self._stop(error.strerror or str(error))
            return
        assert self.index is not None
        self.index["offset"][position], self.index["columns"][position] = start, content.shape[1]
        self.index["rows"][position] = content.shape[0]

    def _begin(self) -> None:
        """As the one who writes: go on with what is there if it can be trusted, or begin anew beside it."""
        boot = _boot()
        size = _HEADER.itemsize + self.count * _RECORD.itemsize
        with contextlib.suppress(OSError, ValueError, IndexError), (self.folder / "index").open("r+b") as file:
            header = np.frombuffer(file.read(_HEADER.itemsize), _HEADER)[0]
            trusted = bool(header["sealed"]) or (boot != b"" and header["boot"] == boot)
            whole = os.fstat(file.fileno()).st_size == size and (self.folder / "pixels").is_file()
            if trusted and whole and self._fits(header):
                header = header.copy()
                header["boot"], header["sealed"] = boot, 0
                _write(file.fileno(), memoryview(header.tobytes()), 0)
                return
        for name in ("index", "pixels"):  # those who still read the old ones keep them
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "pixels").touch(mode=0o600)
        beside = self.folder / "index.partial"
        with beside.open("wb") as file:
            header = np.array((_MAGIC, self.count, self.channels, boot, 0), _HEADER)
            file.write(header.tobytes())
            for start in range(file.tell(), size, 1 << 20):  # written out, so that no later write can lack the room
                file.write(bytes(min(1 << 20, size - start)))
        beside.replace(self.folder / "index")

    def _open(self) -> None:
        self.file: IO[bytes] = (self.folder / "pixels").open("r+b" if self.writes else "rb", buffering=0)
        self.index_file: IO[bytes] = (self.folder / "index").open("r+b" if self.writes else "rb", buffering=0)
        self.index: np.memmap[Any, np.dtype[np.void]] | None = None
        with contextlib.suppress(ValueError, IndexError):  # a reader may find none yet, or half of one: nothing is kept
            header = np.frombuffer(self.index_file.read(_HEADER.itemsize), _HEADER)[0]
            if not self._fits(header):
                return
            mode = "r+" if self.writes else "r"
            self.index = np.memmap(self.index_file, _RECORD, mode, _HEADER.itemsize, (self.count,))  # type: ignore[call-overload]
        if self.writes:
            assert self.index is not None
            ends = self.index["offset"] + self.index["rows"].astype(np.uint64) * self.index["columns"] * self.channels
            self.end = -(-int(ends.max(initial=0)) // _ALIGN) * _ALIGN

    def _fits(self, header: np.void) -> bool:
        return bool(
            header["magic"] == _MAGIC.rstrip(b"\0")
            and header["count"] == self.count
            and header["channels"] == self.channels
        )

    def _mapped(self, end: int) -> mmap.mmap | None:
        """The file in memory at least up to there; None where it is not that long."""
        mapped = self.map
        if mapped is None or len(mapped) < end:
            with self.guard:
                if self.map is None or len(self.map) < end:
                    size = os.fstat(self.file.fileno()).st_size
                    if size < end:
                        return None
                    self.map = mmap.mmap(self.file.fileno(), size, access=mmap.ACCESS_READ)
                mapped = self.map
        return mapped

    def _stop(self, reason: str) -> None:
        with self.guard:
            told, self.full = self.full, True
        if not told:
            print(f"  the cache {self.folder} takes no more pictures: {reason}; the rest is decoded", file=sys.stderr)


def _write(file: int, content: memoryview, start: int) -> None:
    """All of it: the system may write less than it is given."""
    while content:
        done = os.pwrite(file, content, start)
        content, start = content[done:], start + done


def _boot() -> bytes:
    """What names this run of the machine; nothing where the system does not say."""
    try:
        return _BOOT.read_bytes().strip()[:40]
    except OSError:
        return b""


def _seal(file: IO[bytes], index_file: IO[bytes]) -> None:
    """Force all to the disk, then say so."""
    with contextlib.suppress(OSError, ValueError):
        os.fsync(file.fileno())
        os.fsync(index_file.fileno())
        place = _HEADER.fields["sealed"][1] if _HEADER.fields else 0
        os.pwrite(index_file.fileno(), np.uint64(1).tobytes(), place)
