"""All caches of a person: where they lie, which one belongs to which pictures, how much room they may take."""

import contextlib
import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

from vitlab.data.feed.cache import Cache
from vitlab.data.feed.locks import lock
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError

LIMIT = 100 * 2**30  # bytes of all caches together, where $VITLAB_CACHE_LIMIT names no other number of GiB
_HALF = 0.5  # of what is free on the disk may be taken


def root() -> Path:
    """The folder of all caches: $VITLAB_CACHE, or where the system keeps such things."""
    if named := os.environ.get("VITLAB_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vitlab" / "pixels"


def limit() -> int:
    """Bytes that all caches together may take."""
    named = os.environ.get("VITLAB_CACHE_LIMIT")
    if named is None:
        return LIMIT
    try:
        return int(float(named) * 2**30)
    except (ValueError, OverflowError):
        raise UserError(f"VITLAB_CACHE_LIMIT wants a number of GiB, not {named!r}") from None


def too_large(need: int, below: Path) -> str:
    """Why a cache of so many bytes is not made there; nothing if it can be."""
    if need > limit():
        return f"{need / 2**30:,.1f} GiB are more than the {limit() / 2**30:,.0f} GiB that caches may take"
    there = next((above for above in [below, *below.parents] if above.exists()), below)
    try:
        free = shutil.disk_usage(there).free
    except OSError as error:
        return f"{there} cannot be looked at: {error.strerror or error}"
    if not os.access(there, os.W_OK):
        return f"{there} cannot be written to"
    if need > _HALF * free:
        return f"{need / 2**30:,.1f} GiB are more than half of the {free / 2**30:,.1f} GiB free in {there}"
    return ""


def key(samples: Samples, preprocess: Preprocess, whole: bool) -> str:
    """A name that changes with any of the files, with what is made of them, and with the decoders."""
    made = preprocess.model_dump_json(exclude={"mean", "std"})
    decoders = [f"{name} {version(name)}" for name in ("pillow", "simplejpeg", "torch")]
    digest = hashlib.sha256(repr((made, whole, decoders)).encode())
    assert samples.file is not None
    for i, name in enumerate(samples.keys):
        try:
            state = samples.file(i).stat()
            facts = state.st_size, state.st_mtime_ns, state.st_ctime_ns  # the last changes with any write
        except (OSError, ValueError):
            facts = 0, 0, 0  # told of when it is read
        digest.update(repr((name, facts)).encode())
    return digest.hexdigest()[:32]


def open_cache(samples: Samples, preprocess: Preprocess, whole: bool, need: int) -> Cache:
    """The cache of these pictures, made if there is none; others unused for longest make room."""
    below, name = root(), key(samples, preprocess, whole)
    if not (below / name).is_dir() and (why := too_large(need, below)):
        raise UserError(why)
    free = _make_room(below, name, need)
    return Cache(below / name, len(samples), preprocess.channels, free)


def _make_room(below: Path, name: str, need: int) -> int:
    """Take away the caches used least lately until one of this size fits; how many bytes it may then take."""
    others = []
    with contextlib.suppress(OSError):
        others = [entry for entry in below.iterdir() if entry.name != name and (entry / "used").is_file()]
    sizes = {}
    for entry in others:
        with contextlib.suppress(OSError):
            sizes[entry] = (entry / "pixels").stat().st_size, (entry / "used").stat().st_mtime
    taken = sum(size for size, _ in sizes.values())
    for entry, (size, _) in sorted(sizes.items(), key=lambda item: item[1][1]):
        if taken + need <= limit():
            break
        with contextlib.suppress(OSError):
            held = lock(entry / "used", wait=False)
            if held is not None:  # nobody reads it
                with held:
                    shutil.rmtree(entry)
                taken -= size
    return max(limit() - taken, 0)
