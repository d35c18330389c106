"""In which order images come: positions of each batch, decided by seed and epoch alone, so that a resume repeats it.

Where several processes train together, each takes its share of every batch: together they see what one process would
that takes their batches as one, in the same steps.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Sampler


def generator(purpose: str, seed: int, count: int) -> torch.Generator:
    """Random numbers for one purpose, seed and epoch or step. Hashed: of a seed, torch's generator takes 32 bits."""
    digest = hashlib.sha256(f"{purpose}:{seed}:{count}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))


class Share(NamedTuple):
    """Which of how many processes this one is, counted from 0."""

    rank: int = 0
    world: int = 1


ALONE = Share()


class ShuffledBatches(Sampler[Tensor]):
    """Positions of each batch, shuffled by seed and epoch alone; the remainder is left for another epoch.

    `batch` is what one process takes at a time. The k-th batches of all processes are neighbours in one order, so that
    no image comes twice in an epoch.
    """

    def __init__(self, count: int, batch: int, seed: int, share: Share = ALONE) -> None:
        self.count, self.batch, self.seed, self.share = count, min(batch, count // share.world), seed, share
        self.epoch, self.resumed = 0, (0, 0)

    def __len__(self) -> int:
        """Batches of a whole epoch, wherever this one starts."""
        return self.count // self._whole

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch."""
        self.epoch = epoch

    def start_at(self, epoch: int, batch: int) -> None:
        """Where a resumed run goes on: that epoch begins with this batch, counted from 0; the others are whole."""
        self.resumed = epoch, batch

    def generator(self) -> torch.Generator:
        """Random numbers for this epoch's order."""
        return generator("order", self.seed, self.epoch)

    def order(self) -> Tensor:
        """Positions, at least as many as an epoch takes."""
        return torch.randperm(self.count, generator=self.generator())

    def __iter__(self) -> Iterator[Tensor]:
        epoch, batch = self.resumed
        first, mine = batch if self.epoch == epoch else 0, self.share.rank * self.batch
        for positions in self.order()[: len(self) * self._whole].split(self._whole)[first:]:
            yield positions[mine : mine + self.batch]

    @property
    def _whole(self) -> int:
        return self.batch * self.share.world


class BatchesInOrder(Sampler[Tensor]):
    """Positions of each batch, first to last, none left out; all processes take equally many batches.

    Batches are of one length or the next, so that none is empty while there are as many images as processes: an empty
    one has no mean, and a missing one leaves the others waiting.
    """

    def __init__(self, count: int, batch: int, share: Share = ALONE) -> None:
        self.count, self.batch, self.share = count, batch, share

    def __len__(self) -> int:
        return -(-self.count // (self.batch * self.share.world))

    def __iter__(self) -> Iterator[Tensor]:
        rank, world = self.share
        yield from torch.arange(self.count).tensor_split(len(self) * world)[rank::world]


class RepeatedBatches(ShuffledBatches):
    """Each image several times in a row of draws, varied anew each time (Hoffer et al. 2020); epochs are no longer.

    An epoch shows a share 1 / repeats of the images, so that steps stay as many.
    """

    def __init__(self, count: int, batch: int, seed: int, repeats: int, share: Share = ALONE) -> None:
        super().__init__(count, batch, seed, share)
        self.repeats = repeats

    def order(self) -> Tensor:
        return super().order().repeat_interleave(self.repeats)


class BalancedBatches(ShuffledBatches):
    """Every class as often as any other: images drawn with replacement, those of a rare class more often."""

    def __init__(self, labels: Sequence[int] | Tensor, batch: int, seed: int, share: Share = ALONE) -> None:
        labels = torch.as_tensor(labels)
        super().__init__(len(labels), batch, seed, share)
        self.weights = 1.0 / torch.bincount(labels).double()[labels]

    def order(self) -> Tensor:
        return self.weights.multinomial(self.count, replacement=True, generator=self.generator())


class NearbyBatches(ShuffledBatches):
    """Batches from a few parts of the data at a time (shards, say), so that a disk or a decoder's cache is not chased.

    Parts are shuffled, taken `together` at a time, and the images of these shuffled among themselves.
    """

    def __init__(
        self, parts: Sequence[int] | Tensor, batch: int, seed: int, share: Share = ALONE, together: int = 16
    ) -> None:
        self.parts, self.together = torch.as_tensor(parts), together
        super().__init__(len(self.parts), batch, seed, share)

    def order(self) -> Tensor:
        random = self.generator()
        rank = torch.randperm(int(self.parts.max()) + 1, generator=random)
        shuffled = torch.randperm(self.count, generator=random)
        turn = rank[self.parts[shuffled]] // self.together
        return shuffled[turn.argsort(stable=True)]
