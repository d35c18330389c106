"""What Lightning asks for batches: splits in memory, drawn in an order fixed by seed and epoch, varied on device."""

import hashlib
from collections.abc import Iterator

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from vitlab.data.augment import Augment
from vitlab.data.memory import Pictures
from vitlab.data.preprocess import Preprocess

Batch = tuple[Tensor, Tensor]


def generator(purpose: str, seed: int, count: int) -> torch.Generator:
    """Random numbers for one purpose, seed and epoch or step. Hashed: of a seed, torch's generator takes 32 bits."""
    digest = hashlib.sha256(f"{purpose}:{seed}:{count}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))


class DataModule(L.LightningDataModule):
    """Batches of normalised images with their labels: augmented for training, as they are for validation."""

    def __init__(
        self, train: Pictures, val: Pictures | None, preprocess: Preprocess, augment: Augment, batch: int, seed: int
    ) -> None:
        super().__init__()
        self.train, self.val = train, val
        self.preprocess, self.augment = preprocess, augment
        self.batch, self.seed = batch, seed

    def train_dataloader(self) -> DataLoader[Batch]:
        order = ShuffledBatches(len(self.train), self.batch, self.seed)
        return DataLoader(_ByBatch(self.train), sampler=order, batch_size=None)

    def val_dataloader(self) -> DataLoader[Batch] | list[DataLoader[Batch]]:
        if self.val is None:
            return []
        return DataLoader(_ByBatch(self.val), sampler=BatchesInOrder(len(self.val), 2 * self.batch), batch_size=None)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        images, labels = batch
        if self.trainer is not None and self.trainer.training:
            images = self.augment.apply(images, self._generator())
        return self.preprocess.normalise(images), labels

    def _generator(self) -> torch.Generator:
        """A generator for this very batch: the same after a resume as without one."""
        assert self.trainer is not None
        done = self.trainer.fit_loop.epoch_loop.total_batch_idx
        return generator("variation", self.seed, done)


class _ByBatch(Dataset[Batch]):
    """A split indexed by a whole batch of positions at once: one gather instead of a copy an image."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, positions: Tensor) -> Batch:
        return self.pictures.images[positions], self.pictures.labels[positions]


class ShuffledBatches(Sampler[Tensor]):
    """Positions of each batch, shuffled by seed and epoch alone; the remainder is left for another epoch."""

    def __init__(self, count: int, batch: int, seed: int) -> None:
        self.count, self.batch, self.seed, self.epoch = count, min(batch, count), seed, 0

    def __len__(self) -> int:
        return self.count // self.batch

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self.count, generator=generator("order", self.seed, self.epoch))
        yield from order[: len(self) * self.batch].split(self.batch)


class BatchesInOrder(Sampler[Tensor]):
    """Positions of each batch, first to last."""

    def __init__(self, count: int, batch: int) -> None:
        self.count, self.batch = count, batch

    def __len__(self) -> int:
        return -(-self.count // self.batch)

    def __iter__(self) -> Iterator[Tensor]:
        yield from torch.arange(self.count).split(self.batch)
