"""Batches of a split in the order of a sampler, made ahead of the step that takes them, by all cores.

A queue of a few batches bounds the memory. Threads are enough: decoding, scaling and Pillow's operations let go of
Python's lock.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from vitlab.data.augment.apply import singly
from vitlab.data.augment.draws import Draws
from vitlab.data.augment.step import Change, Step
from vitlab.data.blocks import Blocks
from vitlab.data.feed.feed import Feed
from vitlab.data.memory import Pictures
from vitlab.data.order import BatchesInOrder, ShuffledBatches

AHEAD = 3  # batches that are being made while one is taken
_PIECE = 8  # pictures that a thread makes at a time


class Raw(NamedTuple):
    """A batch before the device has varied and normalised it."""

    images: UInt8[Tensor, "B channels X Y"]
    labels: Int64[Tensor, " B"]
    draws: Draws


class Loader:
    """Batches of a split, with the first `taken` steps of variation carried out picture by picture."""

    batch_sampler = None  # Lightning asks; it calls the sampler's set_epoch before each epoch

    def __init__(
        self,
        feed: Feed,
        order: ShuffledBatches | BatchesInOrder,
        size: tuple[int, int],
        channels: int,
        steps: Sequence[Step] = (),
        taken: int = 0,
    ) -> None:
        self.feed, self.sampler, self.shape = feed, order, (channels, *size)
        self.steps, self.taken, self.blocks = steps, taken, Blocks()

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[Raw]:
        if isinstance(self.feed, Pictures) and not self.taken:
            for positions, draws in self._wanted():
                yield Raw(self.feed.images[positions], self.feed.labels[positions], draws)
            return
        pool = ThreadPoolExecutor(os.cpu_count(), "feed")
        try:
            wanted = self._wanted()
            queue = deque(_Making(self, pool, *each) for each in islice(wanted, AHEAD))
            while queue:
                made = queue.popleft().made()
                queue.extend(_Making(self, pool, *each) for each in islice(wanted, 1))
                yield made
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _wanted(self) -> Iterator[tuple[Tensor, Draws]]:
        """Positions of each batch, and where its random numbers come from: its number in the whole run."""
        order = self.sampler
        first, seed = 0, 0
        if isinstance(order, ShuffledBatches):
            epoch, begun = order.resumed
            first, seed = order.epoch * len(order) + (begun if order.epoch == epoch else 0), order.seed
        rank, world = order.share
        for number, positions in enumerate(order, first):
            yield positions, Draws(seed, number * world + rank, self.taken)


class _Making:
    """One batch on its way: its pieces, made by several threads, each written where it belongs."""

    def __init__(self, loader: Loader, pool: ThreadPoolExecutor, positions: Tensor, draws: Draws) -> None:
        self.loader, self.draws = loader, draws
        count = len(positions)
        self.images = loader.blocks.empty((count, *loader.shape), torch.uint8)
        self.labels = loader.feed.labels[positions]
        changes = singly(loader.steps, count, loader.shape[1:], draws)
        self.pieces: list[Future[None]] = [
            pool.submit(self._make, i, positions[i : i + _PIECE].tolist(), changes[i : i + _PIECE])
            for i in range(0, count, _PIECE)
        ]

    def made(self) -> Raw:
        """The batch, waited for."""
        for piece in self.pieces:
            piece.result()
        return Raw(self.images, self.labels, self.draws)

    def _make(self, start: int, positions: Sequence[int], changes: Sequence[Sequence[Change]]) -> None:
        places = self.images.numpy()
        for i, (position, steps) in enumerate(zip(positions, changes, strict=True), start):
            picture, _ = self.loader.feed.picture(position, f"{self.draws.seed}:{self.draws.batch}:{i}")
            for change in steps:
                picture = change(picture)
            np.copyto(places[i], picture.transpose(2, 0, 1))
