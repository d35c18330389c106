"""MNIST and Fashion-MNIST, from the idx files in which they are published.

An idx file is four bytes (0, 0, kind of number, dimensions), each dimension as a big-endian integer, then the numbers.
What the header claims is held against what the file can hold before any memory is taken. Plain files are mapped,
compressed ones unpacked into memory once.
"""

import math
import struct
from pathlib import Path

import numpy as np

from vitlab.data.available import too_much
from vitlab.data.decode import Array
from vitlab.data.sources.gunzip import CHUNK, SWELL, Gunzip
from vitlab.data.sources.published import AGAIN, IDX_SETS, IdxSet
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

MOST_BYTES = 1 << 30  # twenty times MNIST
MOST_IMAGES = 1_000_000
_UNSIGNED_BYTES = 8


def idx(which: IdxSet, files: dict[str, Path]) -> Source:
    """The data set in these four files, by their published names (`train-images-idx3-ubyte`, ...)."""
    splits = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        pixels, numbers = files[f"{prefix}-images-idx3-ubyte"], files[f"{prefix}-labels-idx1-ubyte"]
        images, labels = read_idx(pixels, 3), read_idx(numbers, 1)
        if len(images) != len(labels):
            raise UserError(
                f"{pixels} holds {len(images):,} images but {numbers} {len(labels):,} labels; get both from one place"
            )
        if labels.max() >= len(which.classes):
            raise UserError(
                f"{numbers} holds the label {labels.max()} at position {labels.argmax():,}, but the classes of "
                f"{which.name} are numbered 0 to {len(which.classes) - 1}; {AGAIN}"
            )
        _check_cousin(which, labels, numbers)
        splits[split] = _samples(f"{which.name}/{split}", images, labels)
    return Source(which.name, which.classes, splits)


def read_idx(path: Path, dimensions: int) -> Array:
    """The unsigned bytes of an idx file of so many dimensions, plain or compressed, whatever its name ends with."""
    try:
        with path.open("rb") as handle:
            zipped = handle.read(2) == b"\x1f\x8b"
            handle.seek(0)
            stream = Gunzip(path, handle, MOST_BYTES) if zipped else handle
            shape = _shape(path, stream.read(4 + 4 * dimensions), dimensions)
            size, held = math.prod(shape), path.stat().st_size - 4 - 4 * dimensions
            if size > (min(SWELL * path.stat().st_size, MOST_BYTES) if zipped else held) or held > MOST_BYTES:
                raise _unlike(path, shape, "a file of its length unpacks to less" if zipped else f"{held:,} are there")
            if isinstance(stream, Gunzip):
                return _unpack(stream, shape)
            if size != held:
                raise _unlike(path, shape, f"{held:,} are there")
            return np.asarray(np.memmap(handle, np.uint8, "r", 4 + 4 * dimensions, shape))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _shape(path: Path, head: bytes, dimensions: int) -> tuple[int, ...]:
    wanted = bytes((0, 0, _UNSIGNED_BYTES, dimensions))
    if head[:4] != wanted or len(head) != 4 + 4 * dimensions:
        what = {1: "labels", 3: "images"}[dimensions]
        raise UserError(
            f"{path} is no idx file of {what}: it begins with {head[:4].hex() or 'nothing'}, not {wanted.hex()}; "
            f"{AGAIN}"
        )
    shape = struct.unpack(f">{dimensions}I", head[4:])
    if 0 in shape:
        raise UserError(f"{path} says that it holds nothing ({_times(shape)}); {AGAIN}")
    if shape[0] > MOST_IMAGES:
        raise UserError(f"{path} says that it holds {shape[0]:,} samples, over {MOST_IMAGES:,}; {AGAIN}")
    return shape


def _unpack(stream: Gunzip, shape: tuple[int, ...]) -> Array:
    size = math.prod(shape)
    if need := too_much(size):
        raise UserError(f"{stream.path} unpacks to {need}; close something, or take a machine with more")
    array = np.empty(size, np.uint8)
    filled = 0
    while piece := stream.read(min(CHUNK, size - filled)):
        array[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    if filled < size or stream.read(1):  # the last read also has the checksum at the end looked at
        raise _unlike(stream.path, shape, f"{'more' if filled == size else f'{filled:,}'} are there")
    return array.reshape(shape)


def _check_cousin(which: IdxSet, labels: Array, path: Path) -> None:
    """Refuse the files of another data set of the same names and shapes, whose classes would all be wrong."""
    for other in IDX_SETS.values():
        if other is not which and any(labels[: len(first)].tolist() == list(first) for first in other.first_labels):
            raise UserError(f"{path} belongs to {other.name}, not to {which.name}; keep each in a folder of its name")


def _samples(name: str, images: Array, labels: Array) -> Samples:
    keys = tuple(f"{name}/{i:05d}" for i in range(len(images)))
    return Samples(keys, tuple(labels.tolist()), lambda i: images[i])


def _unlike(path: Path, shape: tuple[int, ...], found: str) -> UserError:
    return UserError(f"{path} says that it holds {_times(shape)} = {math.prod(shape):,} bytes, but {found}; {AGAIN}")


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{side:,}" for side in shape)
