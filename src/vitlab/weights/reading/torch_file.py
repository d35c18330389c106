"""torch's own files (`.pth`, `.pt`, `.bin`): a pickle beside raw numbers.

A pickle is a program. It is first followed by a reader of ours that knows the handful of names a file of weights needs,
gives each an empty stand-in and takes no memory for numbers: so shapes and sizes are known, and whatever else a file
asks for is refused by name. Only then torch reads it, with `weights_only=True`.
"""

import argparse
import contextlib
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from vitlab.data.available import too_much
from vitlab.errors import UserError
from vitlab.strangers import plain
from vitlab.weights.reading.checkpoint import Checkpoint, Shape

_AGAIN = "download or copy it again"
_LARGEST_PICKLE = 64 * 2**20
_STATE = ("model_ema", "model", "state_dict", "module", "net", "teacher", "student")  # where files put their weights


class _Shape(NamedTuple):
    """What stands for a tensor."""

    shape: Shape


class _Inert:
    """What stands for anything else: it can be made, called and filled, and does nothing."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


class _Storage(NamedTuple):
    """What stands for raw numbers: bytes of each and how many."""

    item: int
    numbers: int


def open_torch(path: Path) -> Checkpoint:
    """The tensors of a state dict, whatever it is wrapped in."""
    with _whole(path), path.open("rb") as handle:
        zipped = zipfile.is_zipfile(handle)
        handle.seek(0)
        outline = _follow_zip(path) if zipped else _follow_old(handle, path)
    state, where = _state(outline, path)

    def read(names: Iterable[str]) -> dict[str, Tensor]:
        if not zipped and (need := too_much(path.stat().st_size)):
            raise UserError(f"{path} needs {need}")
        with _whole(path), torch.serialization.safe_globals([argparse.Namespace]):
            found: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
        for step in where:
            found = found[step]
        return {name: found[name].detach() for name in names}

    return Checkpoint(path, {name: tensor.shape for name, tensor in state.items()}, read)


def _state(outline: Any, path: Path) -> tuple[dict[str, _Shape], list[str]]:
    """The tensors by name, and the way to them."""
    where: list[str] = []
    while isinstance(outline, dict):
        if found := {name: value for name, value in outline.items() if isinstance(value, _Shape)}:
            return {str(name): value for name, value in found.items()}, where
        step = next((key for key in _STATE if isinstance(outline.get(key), dict)), None)
        if step is None:
            break
        where.append(step)
        outline = outline[step]
    raise UserError(f"{path} holds no weights by name; save a model's state_dict()")


class _Bounded:
    """A file that gives no more than a pickle of weights takes, however much it is asked for."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle, self._left = handle, _LARGEST_PICKLE

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise UserError(f"its pickle is larger than {_LARGEST_PICKLE >> 20} MiB, more than names of weights take")
        return self._handle.read(size)

    def readline(self) -> bytes:
        line = self._handle.readline(1024)
        self._left -= len(line)
        return line


class _Follower(pickle._Unpickler):  # the one in Python: the other takes memory for any number of a note
    """Follows a pickle of weights without making any, and makes nothing else at all."""

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        super().__init__(_Bounded(handle))
        self.path = path
        self.storages: dict[str, int] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _KNOWN:
            return _KNOWN[module, name]
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _STORAGES[name]
        raise UserError(
            f"{self.path} asks for {plain(f'{module}.{name}')} to be run, which a file of weights has no need of; "
            "it was not run: do not trust this file, or ask for one in safetensors"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        """The numbers themselves, which torch keeps elsewhere; all of them together have to fit into the file."""
        _, item, key, _, count, *_ = pid
        self.storages[str(key)] = int(count) * int(item)
        if count < 0 or sum(self.storages.values()) > self.path.stat().st_size:
            raise UserError("it says that it holds more than its own length; do not trust this file")
        return _Storage(item, count)


def _rebuild(storage: _Storage, offset: int, shape: Shape, stride: Shape, *_: Any) -> _Shape:
    """What torch makes a tensor of, its sizes alone; one that is larger than its numbers would swell when copied."""
    if offset < 0 or any(side < 0 for side in (*shape, *stride)) or prod(shape) > storage.numbers:
        raise UserError("it has a tensor larger than the numbers it is made of; do not trust this file")
    return _Shape(tuple(shape))


_KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    ("argparse", "Namespace"): _Inert,  # the arguments of a training, which DeiT and MAE leave beside the weights
    ("torch", "Size"): _Inert,
}
_STORAGES = {
    **dict.fromkeys(("FloatStorage", "IntStorage"), 4),
    **dict.fromkeys(("HalfStorage", "BFloat16Storage", "ShortStorage"), 2),
    **dict.fromkeys(("DoubleStorage", "LongStorage"), 8),
    **dict.fromkeys(("ByteStorage", "CharStorage", "BoolStorage"), 1),
}


def _follow_zip(path: Path) -> Any:
    """The pickle inside torch's zip, whose members lie there as they are."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise UserError("it is compressed, as torch's files never are; do not trust this file")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise UserError("it says that it holds more than its own length; do not trust this file")
        pickles = [member for member in members if PurePosixPath(member.filename).name == "data.pkl"]
        if len(pickles) != 1:
            raise UserError("it is a zip without the one data.pkl that torch writes")
        with archive.open(pickles[0]) as handle:
            return _Follower(handle, path).load()


def _follow_old(handle: IO[bytes], path: Path) -> Any:
    """Before torch 1.6: a magic number, a version, the machine's sizes, each its own pickle; then the pickle."""
    for _ in range(3):
        _Follower(handle, path).load()
    return _Follower(handle, path).load()


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        told = str(error)
        raise UserError(told if str(path) in told else f"{path}: {told}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # hostile pickles raise whatever they like
        reason = plain(next(iter(str(error).splitlines()), "") or type(error).__name__)
        raise UserError(f"{path} is damaged or no file of torch's ({reason}); {_AGAIN}") from None
