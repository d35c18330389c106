"""`metrics.csv`: a row every few steps and one at the end of each epoch, flushed as written."""

import csv
import math
import time
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from vitlab.data.module import Batch
from vitlab.errors import UserError
from vitlab.files import saying_why

COLUMNS = (
    "epoch", "step", "train_loss", "train_accuracy", "val_loss", "val_accuracy", "rate", "images_per_second", "seconds",
)  # fmt: skip
_ROWS_AN_EPOCH = 10


class Record(Callback):
    """Writes the figures of a run as they come, and stops a run whose loss is no number any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = self.epoch_start = time.perf_counter()
        self.loss, self.correct, self.images = torch.zeros(()), torch.zeros(()), 0

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if not self.path.exists():
            self._write(COLUMNS)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.epoch_start = time.perf_counter()
        self.loss, self.correct, self.images = torch.zeros(()), torch.zeros(()), 0

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        count = len(batch[1])
        loss: Tensor = outputs["shown_loss"]
        self.loss = self.loss.to(loss) + loss * count
        self.correct = self.correct.to(loss) + outputs["correct"]
        self.images += count
        every = max(int(trainer.num_training_batches) // _ROWS_AN_EPOCH, 1)
        if batch_idx % every == 0:
            value = float(loss)
            if not math.isfinite(value):
                raise UserError(
                    f"the loss is {value} at step {trainer.global_step}; the run stops here. "
                    "Take a lower --rate or a longer --warmup; the last checkpoint is kept"
                )
            accuracy = float(outputs["correct"]) / count
            self._row(trainer, train_loss=value, train_accuracy=accuracy, images_per_second=self.speed)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        validation = {
            name: float(trainer.callback_metrics[name])
            for name in ("val_loss", "val_accuracy")
            if name in trainer.callback_metrics
        }
        self._row(trainer, **self.epoch_figures, **validation, images_per_second=self.speed)

    @property
    def epoch_figures(self) -> dict[str, float]:
        """Mean loss and accuracy of the epoch so far."""
        seen = max(self.images, 1)
        return {"train_loss": float(self.loss) / seen, "train_accuracy": float(self.correct) / seen}

    @property
    def speed(self) -> float:
        """Training images a second in this epoch."""
        return self.images / (time.perf_counter() - self.epoch_start)

    def _row(self, trainer: L.Trainer, **figures: float) -> None:
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        known = {
            "epoch": trainer.current_epoch + 1,
            "step": trainer.global_step,
            "rate": rate,
            "seconds": round(time.perf_counter() - self.start, 2),
            **figures,
        }
        self._write([f"{value:.6g}" if isinstance(value := known.get(c, ""), float) else value for c in COLUMNS])

    def _write(self, row: Any) -> None:
        with saying_why(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)
