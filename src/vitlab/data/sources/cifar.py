"""CIFAR-10 and CIFAR-100, from the binary version: the folder as it is unpacked, or the tarball as it is published.

A record is one label byte (CIFAR-100: the coarse label, then the fine one, which is the class) and 3,072 pixels: all
red ones, all green, all blue, row by row. The files have no header, so that their length is the one thing that tells a
cut copy: every one has to hold as many records as published. A folder's files are mapped; a tarball's members are found
by their exact names and read into memory, and nothing is written to disk.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vitlab.data.available import too_much
from vitlab.data.decode import Array
from vitlab.data.sources.gunzip import CHUNK, Gunzip
from vitlab.data.sources.published import AGAIN, CifarSet
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

PIXELS = 3 * 32 * 32
MOST_NAMES = 1 << 14  # bytes of the file that lists the classes: CIFAR-100's has about 900


def cifar(which: CifarSet, place: Path) -> Source:
    """The data set in a folder, or in a tarball."""
    members, names = (_from_folder if place.is_dir() else _from_tarball)(which, place)
    classes = _classes(which, names, place)
    records = {name: _records(which, members[name], name, place) for name in members}
    return Source(
        which.name,
        classes,
        {
            "train": _samples(which, "train", [records[name] for name in which.train]),
            "test": _samples(which, "test", [records[which.test]]),
        },
    )


def _sizes(which: CifarSet) -> dict[str, int]:
    """Bytes that each file of records has to have."""
    record, (train, test) = which.label_bytes + PIXELS, which.records
    return {**dict.fromkeys(which.train, train * record), which.test: test * record}


def _from_folder(which: CifarSet, folder: Path) -> tuple[dict[str, Array], bytes]:
    members: dict[str, Array] = {}
    path = folder
    try:
        for name, size in _sizes(which).items():
            path = folder / name
            with path.open("rb") as handle:
                _check_size(name, path.stat().st_size, size, folder)
                members[name] = np.asarray(np.memmap(handle, np.uint8, "r"))
        path = folder / which.names
        with path.open("rb") as handle:
            return members, handle.read(MOST_NAMES + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _from_tarball(which: CifarSet, path: Path) -> tuple[dict[str, Array], bytes]:
    sizes = _sizes(which)
    most = 2 * sum(sizes.values()) + (1 << 20)
    if need := too_much(most // 2):
        raise UserError(f"{path} unpacks to {need}; unpack it with `tar xf`, and its files are mapped instead")
    found: dict[str, bytes] = {}
    try:
        with path.open("rb") as handle:
            stream = Gunzip(path, handle, most)
            while (block := stream.read(tarfile.BLOCKSIZE)).strip(b"\0"):
                # One header at a time: a TarFile follows links, chains of long names and seeks as far as it is told to.
                member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
                if not 0 <= member.size <= most:
                    raise tarfile.HeaderError
                name = member.name.removeprefix(f"{which.folder}/")
                if member.name != f"{which.folder}/{name}" or name not in (*sizes, which.names):
                    _skip(stream, member.size)
                    continue
                if name in found or member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                    raise UserError(f"{path} holds {member.name} twice or as a link; {AGAIN}")
                if name in sizes:
                    _check_size(name, member.size, sizes[name], path)
                found[name] = stream.read(min(member.size, sizes.get(name, MOST_NAMES + 1)))
                _skip(stream, member.size, len(found[name]))
            while stream.read(CHUNK):  # to the end, where the checksum is
                pass
    except (tarfile.TarError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is a damaged tarball; {AGAIN}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if missing := [name for name in (*sizes, which.names) if name not in found]:
        raise UserError(f"{path} holds no {which.folder}/{missing[0]}; {AGAIN}")
    return {name: np.frombuffer(found[name], np.uint8) for name in sizes}, found[which.names]


def _skip(stream: Gunzip, size: int, done: int = 0) -> None:
    """Read over the rest of a member, which is padded to whole blocks."""
    left = -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE - done
    while left and (piece := stream.read(min(CHUNK, left))):
        left -= len(piece)


def _check_size(name: str, size: int, wanted: int, place: Path) -> None:
    if size != wanted:
        raise UserError(
            f"{name} in {place} has {size:,} bytes where {wanted:,} are published; it is cut short or not the binary "
            f"version: {AGAIN}"
        )


def _records(which: CifarSet, held: Array, name: str, place: Path) -> Array:
    record = which.label_bytes + PIXELS
    if len(held) % record:  # a member shorter than its header says
        raise UserError(f"{name} in {place} is cut short; {AGAIN}")
    records = held.reshape(-1, record)
    labels = records[:, which.label_bytes - 1]
    if labels.max() >= which.classes:
        raise UserError(
            f"{name} in {place} holds the label {labels.max()} at record {labels.argmax():,}, but the classes of "
            f"{which.name} are numbered 0 to {which.classes - 1}; {AGAIN}"
        )
    return records


def _classes(which: CifarSet, names: bytes, place: Path) -> tuple[str, ...]:
    """The classes in the order of their numbers, one a line."""
    if len(names) <= MOST_NAMES and names.isascii():
        classes = tuple(line.strip() for line in names.decode("ascii").splitlines() if line.strip())
        if len(set(classes)) == len(classes) == which.classes and all(name.isprintable() for name in classes):
            return classes
    raise UserError(f"{which.names} in {place} does not list {which.classes} classes, one a line; {AGAIN}")


def _samples(which: CifarSet, split: str, files: list[Array]) -> Samples:
    """All records of a split, numbered through its files."""
    each = len(files[0])
    labels = tuple(label for records in files for label in records[:, which.label_bytes - 1].tolist())
    keys = tuple(f"{which.name}/{split}/{i:05d}" for i in range(len(labels)))
    return Samples(keys, labels, _reader(files, each, which.label_bytes))


def _reader(files: list[Array], each: int, label_bytes: int) -> Callable[[int], Array]:
    def read(i: int) -> Array:
        planes = files[i // each][i % each, label_bytes:].reshape(3, 32, 32)
        return planes.transpose(1, 2, 0)

    return read
