"""Writing so that nothing is ever half-written: beside, then rename.

Every file and folder that vitlab leaves for a person goes through here. A reader sees the old content or the new
one, whatever kills the process (a folder that replaces another is gone for the instant between two renames); a full
disk or a read-only folder becomes one sentence.
"""

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vitlab.errors import UserError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write a file or a folder to; it takes `path`'s place when the block ends well."""
    with saying_why(path):
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    try:
        with saying_why(path):
            yield beside / path.name
            _flush(beside / path.name)
            _swap(beside / path.name, path, beside)
            _flush_names(path.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def sweep(folder: Path) -> None:
    """Take away what a process that was killed was writing beside the files of a folder."""
    for left in folder.glob(".*.partial"):
        shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def system_errors() -> Iterator[None]:
    """safetensors tells of a full disk in its own words: back to an OSError, which `saying_why` understands."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def check_writable(folder: Path) -> None:
    """Refuse at once a folder that could not be written to, or made; nothing is left behind by trying."""
    there = next(above for above in [folder, *folder.parents] if above.exists())
    if not there.is_dir():
        raise UserError(f"cannot write {folder}: {there} is a file; choose another folder")
    with saying_why(folder):
        Path(tempfile.mkdtemp(prefix=".vitlab.", suffix=".partial", dir=there)).rmdir()


def cache_folder(what: str) -> Path:
    """Where things are kept that can be made again: below $VITLAB_CACHE, else the user's cache; it may not be there."""
    if own := os.environ.get("VITLAB_CACHE"):
        return Path(own) / what
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        above = Path(tempfile.gettempdir())
    return above / "vitlab" / what


@contextlib.contextmanager
def saying_why(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write `path` into a sentence with the way out."""
    try:
        yield
    except OSError as error:
        reason, advice = _REFUSALS.get(error.errno or 0, (error.strerror or str(error), "choose another folder"))
        raise UserError(f"cannot write {path}: {reason}; {advice}") from error


_NOT_YOURS = "choose a folder you may write to"
_REFUSALS = {
    errno.ENOSPC: ("the disk is full", "free some space or choose another folder"),
    errno.EDQUOT: ("your quota is used up", "free some space or choose another folder"),
    errno.EFBIG: ("the limit on the size of a file is reached", "raise it (ulimit -f) or choose another folder"),
    errno.EACCES: ("permission denied", _NOT_YOURS),
    errno.EPERM: ("not permitted", _NOT_YOURS),
    errno.EROFS: ("the file system is read-only", _NOT_YOURS),
    errno.ENOENT: ("no folder can be made there", _NOT_YOURS),  # as in /proc
}


def _swap(beside: Path, path: Path, scratch: Path) -> None:
    """Rename onto `path`; a folder already there is moved aside first, since rename cannot replace a full one."""
    aside = scratch / "replaced"
    if beside.is_dir() and path.is_dir():
        path.rename(aside)
    try:
        beside.replace(path)
    except BaseException:
        if aside.exists():
            aside.rename(path)
        raise


def _flush(path: Path) -> None:
    """Force bytes to the disk before the rename, so that a power cut cannot leave an empty file under a good name.

    And let others read what others may read.
    """
    for file in [path] if path.is_file() else [found for found in path.rglob("*") if found.is_file()]:
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
        file.chmod(_usual_mode())


def _usual_mode() -> int:
    """Who may read a new file, as the system would have it: safetensors keeps what it writes to its owner alone."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _flush_names(folder: Path) -> None:
    """The new name too, where the system lets a folder be flushed."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
