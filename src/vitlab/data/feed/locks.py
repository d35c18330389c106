"""Locks between processes that the system gives back when a process ends, however it ends."""

from pathlib import Path
from typing import IO

from vitlab.errors import UserError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


def lock(path: Path, shared: bool = False, wait: bool = True) -> IO[bytes] | None:
    """The file, locked until it is closed; None where it is locked already and not waited for."""
    if fcntl is None:
        raise UserError("a cache wants locks on files, which this system does not have")
    file = path.open("ab")
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file
