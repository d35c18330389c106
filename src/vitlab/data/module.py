"""What Lightning asks for batches: splits in memory, drawn in an order fixed by seed and epoch, varied on device."""

from collections.abc import Mapping, Sequence

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from vitlab.data.augment.apply import augment
from vitlab.data.augment.step import Step
from vitlab.data.memory import Pictures
from vitlab.data.order import BatchesInOrder, ShuffledBatches, generator
from vitlab.data.preprocess import Preprocess

Batch = tuple[Tensor, Tensor]


class DataModule(L.LightningDataModule):
    """Batches of normalised images with their labels: augmented for training, as they are for validation."""

    def __init__(
        self,
        splits: Mapping[str, Pictures],
        order: ShuffledBatches,
        preprocess: Preprocess,
        steps: Sequence[Step],
        classes: int,
    ) -> None:
        super().__init__()
        self.train, self.val, self.order = splits["train"], splits.get("val"), order
        self.preprocess, self.steps, self.classes = preprocess, steps, classes

    def train_dataloader(self) -> DataLoader[Batch]:
        return DataLoader(_ByBatch(self.train), sampler=self.order, batch_size=None)

    def val_dataloader(self) -> DataLoader[Batch] | list[DataLoader[Batch]]:
        if self.val is None:
            return []
        order = BatchesInOrder(len(self.val), 2 * self.order.batch, self.order.share)
        return DataLoader(_ByBatch(self.val), sampler=order, batch_size=None)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        images, targets = batch
        if self.steps and self.trainer is not None and self.trainer.training:
            images, targets = augment(self.steps, images, targets, self.classes, self._generator())
        return self.preprocess.normalise(images), targets

    def _generator(self) -> torch.Generator:
        """A generator for this very batch of this process: the same after a resume as without one."""
        assert self.trainer is not None
        rank, world = self.order.share
        done = self.trainer.fit_loop.epoch_loop.total_batch_idx
        return generator("variation", self.order.seed, done * world + rank)


class _ByBatch(Dataset[Batch]):
    """A split indexed by a whole batch of positions at once: one gather instead of a copy an image."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, positions: Tensor) -> Batch:
        return self.pictures.images[positions], self.pictures.labels[positions]
