"""Reproducible, stratified splits.

A sample is placed by a hash of its *key* (its path inside the data set, say), never by its position in a list, so
the same seed gives the same split whatever order the file system, the machine or the NumPy version hands things out.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence


def hold_out(keys: Sequence[str], labels: Sequence[int], count: int, seed: int = 0) -> tuple[list[int], list[int]]:
    """Positions of (kept, held-out) samples; `count` are held out, each class in its share.

    Shares are whole samples by largest remainder, so the held-out part has exactly `count` samples. A class with two
    or more samples keeps at least one.
    """
    if not 0 <= count < len(keys):
        raise ValueError(f"cannot hold out {count} of {len(keys)} samples")
    members: dict[int, list[int]] = defaultdict(list)
    for position, label in enumerate(labels):
        members[label].append(position)
    held: set[int] = set()
    for label, take in _shares({label: len(found) for label, found in members.items()}, count).items():
        held.update(sorted(members[label], key=lambda position: _rank(keys[position], seed))[:take])
    return [i for i in range(len(keys)) if i not in held], [i for i in range(len(keys)) if i in held]


def _shares(sizes: dict[int, int], count: int) -> dict[int, int]:
    """How many of `count` each class gives: proportional, rounded by largest remainder, never a whole class."""
    total = sum(sizes.values())
    exact = {label: count * size / total for label, size in sizes.items()}
    shares = {label: min(int(share), max(sizes[label] - 1, 0)) for label, share in exact.items()}
    while (missing := count - sum(shares.values())) > 0:
        room = [label for label in sizes if shares[label] < sizes[label] - 1] or list(sizes)
        room.sort(key=lambda label: (shares[label] - exact[label], label))
        for label in room[:missing]:
            shares[label] += 1
    return shares


def _rank(key: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{key}".encode()).hexdigest()
