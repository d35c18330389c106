"""Where the pictures of each split are kept, decided once by how much they are and what is free, with the reason."""

import sys
from collections.abc import Mapping

from vitlab.data import memory
from vitlab.data.available import available_memory
from vitlab.data.feed import caches
from vitlab.data.feed.decoded import Decoded
from vitlab.data.feed.feed import Feed
from vitlab.data.feed.feeding import Feeding, Way
from vitlab.data.feed.store import InMemory, Nowhere, Store
from vitlab.data.look import Look
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError

SMALL = 2**30  # bytes of whole pictures that are decoded before each run rather than kept on disk
_QUARTER = 0.25  # of the memory that is free may hold pictures


def needs(samples: Samples, preprocess: Preprocess, look: Look | None = None) -> int:
    """Bytes that the pictures take: fitted to the model, or whole where a look at them is given."""
    area = preprocess.size[0] * preprocess.size[1] if look is None else look.mean_area(preprocess.stored)
    return int(len(samples) * preprocess.channels * area)


def choose(
    splits: Mapping[str, Samples], look: Look, preprocess: Preprocess, whole: bool, taken: int, cached: bool
) -> tuple[Feeding, str]:
    """How a run is fed, and why; `cached` says whether a cache on disk may be used."""
    ways, reasons, held = dict[str, Way](), dict[str, str](), 0
    for name in ("val", "test", "train"):
        cut = whole and name == "train"
        need = needs(splits[name], preprocess, look if cut else None)
        ways[name], reasons[name] = _way(splits[name], need, held, cut, cached)
        held += need if ways[name] == "memory" else 0
    return Feeding(**ways, whole=whole, taken=taken), f"training images {reasons['train']}"


def _way(samples: Samples, need: int, held: int, cut: bool, cached: bool) -> tuple[Way, str]:
    free = available_memory()
    room = need + held <= _QUARTER * free if free is not None else need + held <= SMALL
    size = f"take {need / 2**30:,.1f} GiB" if need >= 2**30 else f"take {need / 2**20:,.1f} MiB"
    if room and (not cut or need <= SMALL):
        return "memory", f"{size} of memory"
    why_not = _no_cache(samples, need, cached)
    if not why_not:
        return "cache", f"{size} and are decoded once, into a file that is mapped"
    if room:
        return "memory", f"{size} of memory; no cache: {why_not}"
    order = ", from a few parts of the data at a time" if samples.parts is not None else ""
    return "stream", f"{size} and are decoded in each epoch{order}; no cache: {why_not}"


def _no_cache(samples: Samples, need: int, cached: bool) -> str:
    if not cached:
        return "--no-cache"
    if samples.file is None:
        return "they are no files of their own"
    return caches.too_large(need, caches.root())


def open_feed(samples: Samples, preprocess: Preprocess, way: Way, look: Look | None = None) -> Feed:
    """A split kept in this way: fitted to the model, or whole where a look at the pictures is given."""
    if way == "memory":
        return memory.load(samples, preprocess) if look is None else _all_whole(samples, preprocess)
    store: Store = Nowhere()
    if way == "cache":
        try:
            store = caches.open_cache(samples, preprocess, look is not None, needs(samples, preprocess, look))
        except UserError as error:
            print(f"  images are decoded in each epoch, without a cache: {error}", file=sys.stderr)
    return Decoded(samples, preprocess, store, whole=look is not None)


def open_fitted(samples: Samples, preprocess: Preprocess) -> Feed:
    """A split as a model is shown it, kept wherever there is room."""
    way, _ = _way(samples, needs(samples, preprocess), 0, cut=False, cached=True)
    return open_feed(samples, preprocess, way)


def _all_whole(samples: Samples, preprocess: Preprocess) -> Decoded:
    """Everything decoded now and kept; bad pictures are left out, before any batch is made of them."""
    tried = Decoded(samples, preprocess, InMemory(), whole=True, say=lambda complaint: None)
    tried.decode_all()
    if not (bad := tried.complaints):
        return tried
    good = [i for i in range(len(samples)) if i not in bad]
    store = InMemory()
    for place, i in enumerate(good):
        store.put(place, tried.picture(i, "")[0])
    kept = Decoded(samples.at(good), preprocess, store, whole=True)
    kept.before = tried.left_out
    return kept
