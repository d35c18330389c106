"""Nearly the same picture: saved again, scaled, slightly turned, a shade lighter.

Difference hashes that differ in at most `DISTANCE` of 128 bits agree in one of their 16 bytes at least, so that sorting
by each byte and what follows it brings candidates together without comparing all with all: each is compared with the
next few in the order, 16 times. Whether two candidates are alike is then decided by looking at both pictures again,
which keeps memory to the hashes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from vitlab.data.checks.copies import Seen
from vitlab.data.checks.finding import Finding, shown
from vitlab.data.checks.sight import HASH_BYTES, thumb
from vitlab.data.decode import Picture
from vitlab.errors import UserError

DISTANCE = 15
# The correlation of two small versions: from here on CIFAR-10's pairs are the same picture to the eye.
ALIKE = 0.95
NEIGHBOURS = 32
_CHUNK = 64
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)
_WORST = {"near-leak": 0, "near-conflict": 1, "near-duplicate": 2}


def near(seen: Sequence[Seen], picture: Callable[[str], Picture], pool: Executor) -> Iterator[Finding]:
    """One finding for each picture that is nearly another: the worst, with the likest partner."""
    first: dict[bytes, Seen] = {}
    for one in sorted(seen, key=lambda one: one.worth):  # of exact copies one is enough
        if one.difference is not None:
            first.setdefault(one.digest, one)
    chosen = list(first.values())
    pairs = [_pair(chosen[a], chosen[b], distance) for a, b, distance in candidates([one.difference for one in chosen])]
    pairs.sort(key=lambda pair: (_WORST[pair[0]], pair[3], pair[1].key, pair[2].key))
    done: set[str] = set()
    for start in range(0, len(pairs), _CHUNK):
        waiting = [pair for pair in pairs[start : start + _CHUNK] if pair[1].key not in done]
        alike = pool.map(lambda pair: _alike(picture, pair[1].key, pair[2].key), waiting)
        for (kind, one, other, _), same in zip(waiting, alike, strict=True):
            if same and one.key not in done:
                done.add(one.key)
                yield Finding(kind, one.key, _sentence(kind, one, other), other.key)


def candidates(hashes: Sequence[bytes | None]) -> list[tuple[int, int, int]]:
    """Positions of pairs whose hashes are close, the smaller first, with their distance."""
    if len(hashes) < 2:
        return []
    table = np.frombuffer(b"".join(one for one in hashes if one is not None), np.uint8).reshape(-1, HASH_BYTES)
    found: dict[tuple[int, int], int] = {}
    for first in range(HASH_BYTES):
        for a, b, distance in _beginning_alike(np.roll(table, -first, axis=1)):
            found[min(a, b), max(a, b)] = distance
    return [(a, b, distance) for (a, b), distance in found.items()]


def _beginning_alike(table: NDArray[np.uint8]) -> Iterator[tuple[int, int, int]]:
    """Close pairs among those that agree in the first byte and come soon after each other."""
    order = np.lexsort(table.T[::-1])
    table = table[order]
    for step in range(1, NEIGHBOURS + 1):
        left, right = table[:-step], table[step:]
        together = np.flatnonzero(left[:, 0] == right[:, 0])
        if not len(together):
            return
        distances = _ONES[left[together] ^ right[together]].sum(axis=1)
        for place in np.flatnonzero(distances <= DISTANCE):
            at = together[place]
            yield int(order[at]), int(order[at + step]), int(distances[place])


def _pair(one: Seen, other: Seen, distance: int) -> tuple[str, Seen, Seen, int]:
    """The finding that two candidates would be, on the one that is worth less."""
    kept, spare = sorted((one, other), key=lambda each: each.worth)
    kind = (
        "near-leak" if kept.split != spare.split else "near-conflict" if kept.label != spare.label else "near-duplicate"
    )
    return kind, spare, kept, distance


def _alike(picture: Callable[[str], Picture], one: str, other: str) -> bool:
    try:
        return float((thumb(picture(one)) * thumb(picture(other))).sum()) >= ALIKE
    except UserError:  # gone in the meantime
        return False


def _sentence(kind: str, one: Seen, other: Seen) -> str:
    said = f"nearly the same picture as {shown(other.key)}"
    if one.label != other.label:
        return f"{said}, which is called {shown(other.label)} and not {shown(one.label)}"
    return f"{said} of {other.split}" if kind == "near-leak" else said
