"""What every source of images is: classes in order, and splits of samples that can be read one by one.

A new source is one function that returns a `Source`; see CONTRIBUTING.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vitlab.data.decode import Picture
from vitlab.data.split import hold_out


@dataclass(frozen=True)
class Samples:
    """One split: a key and a label for each sample, and how to read its picture.

    A key names the sample for good (its path within the data, say): splits and reports speak of it.
    """

    keys: tuple[str, ...]
    labels: tuple[int, ...]
    read: Callable[[int], Picture]
    content: Callable[[int], tuple[str, bytes]] | None = None  # where an image file is part of another: name and bytes
    parts: tuple[int, ...] | None = None  # of which part of the data (a shard, say) each sample is read
    file: Callable[[int], Path] | None = None  # where each sample is an image file of its own

    def __len__(self) -> int:
        return len(self.keys)

    def at(self, positions: Sequence[int]) -> "Samples":
        """Some of the samples, in this order."""
        chosen = tuple(positions)
        content, parts, file = self.content, self.parts, self.file
        return Samples(
            tuple(self.keys[i] for i in chosen),
            tuple(self.labels[i] for i in chosen),
            lambda i: self.read(chosen[i]),
            None if content is None else lambda i: content(chosen[i]),
            None if parts is None else tuple(parts[i] for i in chosen),
            None if file is None else lambda i: file(chosen[i]),
        )


@dataclass(frozen=True)
class Source:
    """Images with their classes, in the splits they came in: `train`, and where there are any `val` and `test`."""

    name: str
    classes: tuple[str, ...]
    splits: dict[str, Samples]
    left_out: int = 0  # samples that a list said to leave out
    said: tuple[str, ...] = ()  # what a person should know before training on it

    def hold_out(self, split: str, count: int, seed: int) -> "Source":
        """The same data with `count` training samples, stratified, set apart as another split."""
        kept, held = hold_out(self.splits["train"].keys, self.splits["train"].labels, count, seed)
        train = self.splits["train"]
        return replace(self, splits={**self.splits, "train": train.at(kept), split: train.at(held)})
