"""What Lightning asks for batches: splits in an order fixed by seed and epoch, varied and normalised on the device."""

from collections.abc import Mapping, Sequence
from typing import Any

import lightning as L
import torch
from torch import Tensor

from vitlab.data.augment.apply import augment
from vitlab.data.augment.step import Step
from vitlab.data.blocks import Blocks
from vitlab.data.feed.feed import Feed
from vitlab.data.feed.loader import Loader, Raw
from vitlab.data.order import BatchesInOrder, ShuffledBatches
from vitlab.data.preprocess import Preprocess

Batch = tuple[Tensor, Tensor]


class DataModule(L.LightningDataModule):
    """Batches of normalised images with their labels: augmented for training, as they are for validation.

    The first `taken` steps of variation are carried out by the loader, picture by picture, the others here.
    """

    def __init__(
        self,
        splits: Mapping[str, Feed],
        order: ShuffledBatches,
        preprocess: Preprocess,
        steps: Sequence[Step],
        classes: int,
        taken: int = 0,
    ) -> None:
        super().__init__()
        self.train, self.val, self.order = splits["train"], splits.get("val"), order
        self.preprocess, self.steps, self.classes, self.taken = preprocess, steps, classes, taken
        self.blocks = Blocks()

    def train_dataloader(self) -> Loader:
        return Loader(self.train, self.order, *self._shape, self.steps, self.taken)

    def val_dataloader(self) -> Loader | list[Loader]:
        if self.val is None:
            return []
        order = BatchesInOrder(len(self.val), 2 * self.order.batch, self.order.share)
        return Loader(self.val, order, *self._shape)

    def transfer_batch_to_device(self, batch: Raw, device: torch.device, dataloader_idx: int) -> Any:
        return Raw(batch.images.to(device, non_blocking=True), batch.labels.to(device), batch.draws)

    def on_after_batch_transfer(self, batch: Raw, dataloader_idx: int) -> Batch:
        images, targets = batch.images, batch.labels
        if self.steps and self.trainer is not None and self.trainer.training:
            images, targets = augment(self.steps, images, targets, self.classes, batch.draws)
        return self.preprocess.normalise(images, self.blocks), targets

    @property
    def _shape(self) -> tuple[tuple[int, int], int]:
        return self.preprocess.size, self.preprocess.channels
