"""`metrics.csv`: a row every few steps and one at the end of each epoch, flushed as written.

Where several processes train together, each counts what it saw; rows are of all of them, and the first one writes.
"""

import csv
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, distributed

from vitlab.data.module import Batch
from vitlab.errors import UserError
from vitlab.files import saying_why
from vitlab.training.checkpoint import Figures, diverged

COLUMNS = (
    "epoch", "step", "train_loss", "train_accuracy", "val_loss", "val_accuracy", "rate", "images_per_second", "seconds",
)  # fmt: skip
_ROWS_AN_EPOCH = 10


class Record(Callback):
    """Writes the figures of a run as they come, and stops a run whose loss is no number any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = self.epoch_start = self.batch_end = time.perf_counter()
        self.loss, self.correct, self.images = torch.zeros(()), torch.zeros(()), 0
        self.timed = 0  # images from `epoch_start` to `batch_end`
        self.row: dict[str, float] = {}  # the last one written, for whoever shows it elsewhere

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if trainer.is_global_zero and not self.path.exists():
            self._write(COLUMNS)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.epoch_start = time.perf_counter()
        self.loss, self.correct, self.images, self.timed = torch.zeros(()), torch.zeros(()), 0, 0

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        count = len(batch[1])
        loss: Tensor = outputs["shown_loss"]
        self.loss = self.loss.to(loss) + loss * count
        self.correct = self.correct.to(loss) + outputs["correct"]
        self.images += count
        self.timed += count
        self.batch_end = time.perf_counter()
        every = max(int(trainer.num_training_batches) // _ROWS_AN_EPOCH, 1)
        if batch_idx % every == 0:
            value, accuracy = _means(loss * count, outputs["correct"], count)
            if not math.isfinite(value):
                raise UserError(diverged(f"the loss is {value} at step {trainer.global_step}"))
            self._row(trainer, train_loss=value, train_accuracy=accuracy, images_per_second=self.speed)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        validation = {
            name: float(trainer.callback_metrics[name])
            for name in ("val_loss", "val_accuracy")
            if name in trainer.callback_metrics
        }
        loss, accuracy = _means(self.loss, self.correct, self.images)
        if not math.isfinite(loss):
            raise UserError(diverged(f"the loss is {loss} in epoch {trainer.current_epoch + 1}"))
        self._row(trainer, train_loss=loss, train_accuracy=accuracy, **validation, images_per_second=self.speed)

    @property
    def epoch_figures(self) -> dict[str, float]:
        """Mean loss and accuracy of what this process has seen of the epoch."""
        seen = max(self.images, 1)
        return {"train_loss": float(self.loss) / seen, "train_accuracy": float(self.correct) / seen}

    @property
    def speed(self) -> float:
        """Training images a second in this epoch, of all processes; validation is not training."""
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        return world * self.timed / (self.batch_end - self.epoch_start) if self.timed else 0.0

    def stand(self) -> tuple[Figures, dict[str, Tensor]]:
        """What a checkpoint has to know: where the file ends, and the sums of the epoch of all processes."""
        loss, correct, images = _sums(self.loss, self.correct, self.images)
        size = self.path.stat().st_size if self.path.exists() else 0
        figures = Figures(size=size, seconds=time.perf_counter() - self.start, images=images)
        return figures, {"loss": loss.cpu(), "correct": correct.cpu()}

    def go_on(self, trainer: L.Trainer, figures: Figures, sums: Mapping[str, Tensor]) -> None:
        """Begin where a checkpoint was written: rows from after it go, since their steps come again."""
        now = time.perf_counter()
        self.start, self.epoch_start, self.timed = now - figures.seconds, now, 0
        if not trainer.is_global_zero:
            return  # the first process counts for all what was seen before
        self.loss, self.correct, self.images = sums["loss"].clone(), sums["correct"].clone(), figures.images
        if self.path.exists() and self.path.stat().st_size > figures.size:
            with saying_why(self.path):
                os.truncate(self.path, figures.size)

    def _row(self, trainer: L.Trainer, **figures: float) -> None:
        if not trainer.is_global_zero:
            return
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        self.row = {
            "epoch": trainer.current_epoch + 1,
            "step": trainer.global_step,
            "rate": rate,
            "seconds": round(time.perf_counter() - self.start, 2),
            **figures,
        }
        self._write([f"{value:.6g}" if isinstance(value := self.row.get(c, ""), float) else value for c in COLUMNS])

    def _write(self, row: Any) -> None:
        with saying_why(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)


def _sums(loss: Tensor, correct: Tensor, images: int) -> tuple[Tensor, Tensor, int]:
    """Added up over all processes, where there are several."""
    if not distributed.is_initialized() or distributed.get_world_size() == 1:
        return loss, correct, images
    summed = torch.stack([loss.double(), correct.double(), torch.tensor(images).to(loss.device).double()])
    distributed.all_reduce(summed)
    return summed[0].to(loss), summed[1].to(correct), int(summed[2])


def _means(loss: Tensor, correct: Tensor, images: int) -> tuple[float, float]:
    """Loss and accuracy of an image."""
    loss, correct, images = _sums(loss, correct, images)
    return float(loss) / max(images, 1), float(correct) / max(images, 1)
