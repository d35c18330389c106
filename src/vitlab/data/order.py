"""In which order images come: positions of each batch, decided by seed and epoch alone, so that a resume repeats it."""

import hashlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.data import Sampler


def generator(purpose: str, seed: int, count: int) -> torch.Generator:
    """Random numbers for one purpose, seed and epoch or step. Hashed: of a seed, torch's generator takes 32 bits."""
    digest = hashlib.sha256(f"{purpose}:{seed}:{count}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))


class ShuffledBatches(Sampler[Tensor]):
    """Positions of each batch, shuffled by seed and epoch alone; the remainder is left for another epoch."""

    def __init__(self, count: int, batch: int, seed: int) -> None:
        self.count, self.batch, self.seed, self.epoch = count, min(batch, count), seed, 0

    def __len__(self) -> int:
        return self.count // self.batch

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch."""
        self.epoch = epoch

    def generator(self) -> torch.Generator:
        """Random numbers for this epoch's order."""
        return generator("order", self.seed, self.epoch)

    def order(self) -> Tensor:
        """Positions, at least as many as an epoch takes."""
        return torch.randperm(self.count, generator=self.generator())

    def __iter__(self) -> Iterator[Tensor]:
        yield from self.order()[: len(self) * self.batch].split(self.batch)


class BatchesInOrder(Sampler[Tensor]):
    """Positions of each batch, first to last."""

    def __init__(self, count: int, batch: int) -> None:
        self.count, self.batch = count, batch

    def __len__(self) -> int:
        return -(-self.count // self.batch)

    def __iter__(self) -> Iterator[Tensor]:
        yield from torch.arange(self.count).split(self.batch)


class RepeatedBatches(ShuffledBatches):
    """Each image several times in a row of draws, varied anew each time (Hoffer et al. 2020); epochs are no longer.

    An epoch shows a share 1 / repeats of the images, so that steps stay as many.
    """

    def __init__(self, count: int, batch: int, seed: int, repeats: int) -> None:
        super().__init__(count, batch, seed)
        self.repeats = repeats

    def order(self) -> Tensor:
        return super().order().repeat_interleave(self.repeats)


class BalancedBatches(ShuffledBatches):
    """Every class as often as any other: images drawn with replacement, those of a rare class more often."""

    def __init__(self, labels: Sequence[int] | Tensor, batch: int, seed: int) -> None:
        labels = torch.as_tensor(labels)
        super().__init__(len(labels), batch, seed)
        self.weights = 1.0 / torch.bincount(labels).double()[labels]

    def order(self) -> Tensor:
        return self.weights.multinomial(self.count, replacement=True, generator=self.generator())
