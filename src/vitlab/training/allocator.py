"""The memory of a step kept for the next one, instead of given back to the system and fetched page by page.

glibc gives back blocks of more than a few megabytes as soon as they are free, and a step of training has hundreds: on
a CPU up to a tenth of its time went into tens of thousands of page faults. Elsewhere nothing is done.
"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of glibc's malloc.h


def keep_memory() -> bool:
    """From now on freed blocks stay with the process; whether the system's allocator could be told."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))
