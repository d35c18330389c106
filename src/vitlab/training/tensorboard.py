"""The figures of a run for TensorBoard, on request: what `metrics.csv` holds, as event files in the run's folder."""

from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from vitlab.data.module import Batch
from vitlab.errors import UserError
from vitlab.training.record import Record

_PLACES = ("epoch", "step", "seconds")  # of a row, rather than what was measured there


class Events(Callback):
    """Writes each row to `folder`; `tensorboard --logdir` reads them.

    Figures of single batches stand apart from those of whole epochs, which are called as in the table.
    """

    def __init__(self, folder: Path, record: Record, since: int | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError(
                "tensorboard is not installed; pip install 'vitlab[tensorboard]' brings it, or leave --tensorboard out"
            ) from None
        # Of a run that goes on, what was written after its checkpoint is left out by whoever reads.
        self.writer: Any = SummaryWriter(folder, purge_step=since)
        self.record, self.written = record, record.row

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self._write("batch/")

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._write("")

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.writer.close()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self.writer.close()

    def _write(self, group: str) -> None:
        row = self.record.row
        if row is self.written:
            return
        self.written = row
        for name, value in row.items():
            if name not in _PLACES:
                self.writer.add_scalar(f"{group}{name}", value, int(row["step"]))
