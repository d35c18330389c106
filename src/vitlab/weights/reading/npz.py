"""NumPy's `.npz`: a zip of arrays. Sizes are compared with headers first, and nothing is ever unpickled."""

import contextlib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from vitlab.data.available import too_much
from vitlab.errors import UserError
from vitlab.strangers import plain
from vitlab.weights.reading.checkpoint import Checkpoint, Shape

_AGAIN = "download or copy it again"
_MOST_MEMBERS = 100_000
_LONGEST_HEADER = 10_000


def open_npz(path: Path) -> Checkpoint:
    """The arrays of the file; only headers are read here."""
    with _whole(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise UserError(f"{path} has {len(members):,} members, more than any model has weights")
        shapes = {member.filename.removesuffix(".npy"): _shape(path, archive, member) for member in members}

    def read(names: Iterable[str]) -> dict[str, Tensor]:
        wanted = list(names)
        with _whole(path), zipfile.ZipFile(path) as archive:
            if need := too_much(sum(archive.getinfo(f"{name}.npy").file_size for name in wanted)):
                raise UserError(f"{path} needs {need}")
            return {name: _array(archive, name) for name in wanted}

    return Checkpoint(path, shapes, read)


def _shape(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Shape:
    """The shape in a member's header, which has to account for every byte that the member says it has."""
    with archive.open(member) as handle:
        shape, dtype = _header(handle)
        size = handle.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or dtype.itemsize not in {"f": (2, 4, 8), "V": (2,)}.get(dtype.kind, ()):
        raise UserError(
            f"{path}: {plain(member.filename)} holds {dtype}, not floating-point numbers; nothing is unpickled"
        )
    if size != member.file_size or min(shape, default=0) < 0:
        raise UserError(
            f"{path}: {plain(member.filename)} says that it has {member.file_size:,} bytes, "
            f"its header makes them {size:,}; {_AGAIN}"
        )
    return shape


def _header(handle: IO[bytes]) -> tuple[Shape, "np.dtype[np.generic]"]:
    version = np.lib.format.read_magic(handle)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(handle, max_header_size=_LONGEST_HEADER)
    return shape, dtype


def _array(archive: zipfile.ZipFile, name: str) -> Tensor:
    with archive.open(f"{name}.npy") as handle:
        array = np.lib.format.read_array(handle, allow_pickle=False, max_header_size=_LONGEST_HEADER)
    if array.dtype.kind == "V":  # JAX's bfloat16, which NumPy knows as two bytes
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array))


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # a zip or a header that is broken on purpose raises whatever it likes
        reason = plain(next(iter(str(error).splitlines()), "") or type(error).__name__)
        raise UserError(f"{path} is damaged or no .npz file ({reason}); {_AGAIN}") from None
