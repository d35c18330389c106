"""The figures of a run for TensorBoard, on request: what `metrics.csv` holds, as event files in the run's folder."""

from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from vitlab.data.module import Batch
from vitlab.errors import UserError
from vitlab.training.record import Record


class Events(Callback):
    """Writes each epoch's figures to `folder`; `tensorboard --logdir` reads them."""

    def __init__(self, folder: Path, record: Record, since: int | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError(
                "tensorboard is not installed; pip install 'vitlab[tensorboard]' brings it, or leave --tensorboard out"
            ) from None
        # Of a run that goes on, what was written after its checkpoint is left out by whoever reads.
        self.writer: Any = SummaryWriter(folder, purge_step=since)
        self.record = record

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step % max(int(trainer.num_training_batches) // 10, 1) == 0:
            self.writer.add_scalar("rate", trainer.optimizers[0].param_groups[0]["lr"], trainer.global_step)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        speed = {"images_per_second": self.record.speed}
        figures: dict[str, Any] = {**self.record.epoch_figures, **trainer.callback_metrics, **speed}
        for name, value in figures.items():
            self.writer.add_scalar(name, float(value), trainer.global_step)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.writer.close()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self.writer.close()
