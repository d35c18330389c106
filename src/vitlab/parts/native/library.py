"""The C++ beside this file, compiled by the system's compiler when it is first wanted, and kept for the next time.

A library's name has a hash of the sources, of the compiler's version and of the processor, so that one made for other
circumstances is never loaded. Nothing is built or used before `take_up` is called.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

SOURCES = tuple(Path(__file__).parent / name for name in ("passes.cpp", "softmax.cpp"))
_HEADER = Path(__file__).parent / "numbers.h"
# Not -ffast-math: with it some compilers let every thread that loads a library flush small numbers to zero.
_FLAGS = ("-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fopenmp", "-fPIC", "-shared")
_TYPES = (torch.float32, torch.bfloat16)

_loaded: ctypes.CDLL | None = None
_used = False


def take_up(folder: Path) -> str:
    """Build the library if need be and use it from now on; why not, where it cannot be had."""
    global _loaded, _used
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(str(_built(folder)))
        except (OSError, subprocess.SubprocessError) as error:
            return _why(error)
    _used = True
    return ""


@contextlib.contextmanager
def used(wanted: bool) -> Iterator[None]:
    """For a while, with a library that has been taken up, or without it."""
    global _used
    before, _used = _used, wanted and _used
    try:
        yield
    finally:
        _used = before


def put_down() -> None:
    """Not used any more, until it is taken up again."""
    global _used
    _used = False


def fits(*tensors: Tensor) -> bool:
    """Whether the library is in use and can take these: real tensors of a CPU, of one of its types, outside a compiler.

    What only pretends to be a tensor (to count memory, to trace a graph) has no memory to pass over.
    """
    return (
        _used
        and not torch.compiler.is_compiling()
        and all(
            t.device.type == "cpu" and t.dtype in _TYPES and type(t) in (Tensor, torch.nn.Parameter) for t in tensors
        )
    )


def call(name: str, *arguments: object) -> None:
    """A function of the library; tensors are given by where they lie."""
    assert _loaded is not None
    getattr(_loaded, name)(*(_argument(given) for given in arguments))


def _argument(given: object) -> object:
    if isinstance(given, Tensor):
        return ctypes.c_void_p(given.data_ptr())
    if isinstance(given, int):
        return ctypes.c_int64(given)
    return ctypes.c_float(given) if isinstance(given, float) else given


def _built(folder: Path) -> Path:
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        raise FileNotFoundError("no C++ compiler is here")
    flags = [*_FLAGS, *(["-mprefer-vector-width=512"] if platform.machine() in ("x86_64", "AMD64") else [])]
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True, timeout=60).stdout
    about = [*(file.read_bytes() for file in (*SOURCES, _HEADER)), version, " ".join(flags).encode(), _processor()]
    made = folder / f"native-{hashlib.sha256(b'|'.join(about)).hexdigest()[:16]}.so"
    if not made.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, suffix=".partial") as scratch:
            fresh = Path(scratch) / made.name
            subprocess.run(
                [compiler, *flags, *map(str, SOURCES), "-o", str(fresh)], capture_output=True, check=True, timeout=300
            )
            fresh.replace(made)  # at once: another process may be building the same
    return made


def _processor() -> bytes:
    """What -march=native looks at."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor().encode()
    told = [line for line in lines if line.startswith(("model name", "flags", "Features", "cpu family", "model\t"))]
    return "\n".join(sorted(set(told))).encode()


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode(errors="replace").strip().splitlines()
        return f"the C++ compiler refused: {said[0] if said else f'it ended with {error.returncode}'}"
    return str(error)
