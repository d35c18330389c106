"""How much memory may still be taken, so that too much is refused in a sentence and not by the kernel."""

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")


def available_memory() -> int | None:
    """Bytes that can be taken without swapping, page cache given back counted in; None where nobody says."""
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # macOS tells what there is, not what is free
    except (AttributeError, ValueError, OSError):
        return None


def too_much(size: int) -> str:
    """What to say when `size` bytes are more than can be taken; nothing when they are not."""
    free = available_memory()
    if free is None or size <= 0.8 * free:
        return ""
    return f"{size / 2**30:,.1f} GiB of memory, {free / 2**30:,.1f} GiB are there"
