"""The same picture more than once: in one class, in two classes, in two splits.

Of copies in several splits the one in `test` stays, then the one in `val`: a held-out image is worth more, and one that
was trained on measures nothing. Which label is right nobody can say but a person, so that copies in two classes of one
split are listed and left where they are.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vitlab.data.checks.finding import Finding, shown

_PRIORITY = {"test": 0, "val": 1}


@dataclass(frozen=True)
class Seen:
    """One picture of a class and a split, by its hashes."""

    key: str
    split: str
    label: str
    digest: bytes
    difference: bytes | None

    @property
    def worth(self) -> tuple[int, str]:
        """The lowest is the copy to keep."""
        return _PRIORITY.get(self.split, 2), self.key


def copies(seen: Sequence[Seen], held_out: bool) -> Iterator[Finding]:
    """Findings on each copy but the one to keep; `held_out` says that a split is still to be taken from `train`."""
    groups: dict[bytes, list[Seen]] = defaultdict(list)
    for one in seen:
        groups[one.digest].append(one)
    for group in groups.values():
        if len(group) > 1:
            yield from _group(sorted(group, key=lambda one: one.worth), held_out)


def _group(group: list[Seen], held_out: bool) -> Iterator[Finding]:
    for place, one in enumerate(group[1:], start=1):
        before = group[:place]
        if leak := next((other for other in before if other.split != one.split), None):
            sentence = f"the same picture as {shown(leak.key)} of {leak.split}, which then measures memory"
            yield Finding("leak", one.key, sentence, leak.key, leave_out=True)
        if conflict := next((other for other in before if other.label != one.label), None):
            sentence = (
                f"called {shown(one.label)} here and {shown(conflict.label)} as {shown(conflict.key)}; one is wrong"
            )
            yield Finding("label-conflict", one.key, sentence, conflict.key)
        if not leak and not conflict:
            # A hold-out could put one copy on either side.
            spare = held_out and one.split == "train"
            sentence = f"the same picture as {shown(before[0].key)}"
            yield Finding("duplicate", one.key, sentence, before[0].key, leave_out=spare)
