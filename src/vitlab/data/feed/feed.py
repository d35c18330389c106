"""What every split can do that batches are made of, wherever its pictures are."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from numpy.typing import NDArray
from torch import Tensor

Picture = NDArray[np.uint8]  # rows, columns, channels
Statistics = tuple[tuple[float, ...], tuple[float, ...]]
Batch = UInt8[Tensor, "B channels X Y"]

LOOKED_AT = 512  # pictures that stand for all where looking at all would take an epoch


def spread(count: int) -> list[int]:
    """Positions of a few of so many pictures, from the first to the last."""
    found: list[int] = np.linspace(0, count - 1, min(LOOKED_AT, count)).round().astype(int).tolist()
    return found


class Feed(ABC):
    """Pictures by position, with the keys by which people know them, and their labels."""

    keys: Sequence[str]
    labels: Int64[Tensor, " count"]
    parts: Sequence[int] | None = None  # of which part of the data (a shard, say) each is read, where that matters
    left_out: tuple[str, ...]  # of each image that cannot be used, what is wrong with it, as far as it is known

    def __len__(self) -> int:
        return len(self.labels)

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash to know the same data again."""

    @abstractmethod
    def statistics(self) -> Statistics:
        """Mean and standard deviation of each channel, on the scale 0 to 1, of pictures fitted to the model."""

    @abstractmethod
    def picture(self, position: int, draw: str) -> tuple[Picture, int]:
        """The picture at a position; where it is bad another one, which `draw` decides. With the position it is of."""

    @abstractmethod
    def batches(self, size: int) -> Iterator[tuple[Batch, Tensor]]:
        """All pictures that can be used, at the model's size, with their positions, some at a time."""

    @abstractmethod
    def some(self) -> Batch:
        """Pictures spread over the split, at the model's size, that stand for all of them."""

    def image(self, position: int) -> UInt8[Tensor, "channels X Y"]:
        """One picture as the model is shown it."""
        return torch.from_numpy(np.ascontiguousarray(self.picture(position, "")[0].transpose(2, 0, 1)))
