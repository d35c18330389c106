"""What a person watches: one line with a bar, the figures and the time left; plain lines where there is no terminal."""

import sys
import time
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from vitlab.data.module import Batch
from vitlab.training.plan import Plan
from vitlab.training.record import Record
from vitlab.training.work import Work


class Watch(Callback):
    """Draws on standard error, so that standard output holds results alone."""

    def __init__(self, record: Record, plan: Plan) -> None:
        self.record = record
        self.work, self.peak = Work(plan.blueprint, plan.recipe), plan.machine.peak_gflops
        self.console = Console(stderr=True, soft_wrap=True, highlight=False)
        self.bar: Progress | None = None
        self.task: Any = None
        self.start, self.begun = time.perf_counter(), -1  # batches done before, where a run goes on

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.console.is_terminal:
            columns = (BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
            self.bar = Progress(*columns, console=self.console, refresh_per_second=4)
            self.task = self.bar.add_task("", total=_steps(trainer))
            self.bar.start()

    def on_train_batch_start(self, trainer: L.Trainer, *_: Any) -> None:
        if self.begun < 0:
            self.start, self.begun = time.perf_counter(), trainer.fit_loop.epoch_loop.total_batch_idx

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if self.bar is not None:
            done = trainer.fit_loop.epoch_loop.total_batch_idx + 1
            self.bar.update(self.task, completed=done, description=self._line(trainer, done))

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        epochs = trainer.max_epochs or 1
        shown = (trainer.current_epoch + 1) * 10 // epochs > trainer.current_epoch * 10 // epochs
        if self.bar is None and shown:
            print(self._line(trainer, trainer.fit_loop.epoch_loop.total_batch_idx + 1), file=sys.stderr, flush=True)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self._stop()

    def _stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _line(self, trainer: L.Trainer, done: int) -> str:
        begun, now, end = (
            self.work.until(batches / _steps(trainer)) for batches in (self.begun, done, _steps(trainer))
        )
        left = (time.perf_counter() - self.start) / (now - begun) * (end - now)
        figures = self.record.epoch_figures
        val = trainer.callback_metrics.get("val_accuracy")
        parts = [
            f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}",
            f"loss {figures['train_loss']:.3f}",
            f"accuracy {figures['train_accuracy']:.1%}",
            f"validation {float(val):.1%}" if val is not None else "",
            f"{self.record.speed:,.0f} images/s",
            self._share(trainer, (done - 1) / _steps(trainer)),
            f"{int(left) // 60}:{int(left) % 60:02d} left",
        ]
        return "  ".join(part for part in parts if part)

    def _share(self, trainer: L.Trainer, way: float) -> str:
        """How much of what the machine could compute the model's products took."""
        if self.peak is None:
            return ""
        return f"{self.record.speed * self.work.at(way) / (self.peak * 1e9 * trainer.world_size):.0%} of the peak"


def _steps(trainer: L.Trainer) -> int:
    return int(trainer.num_training_batches) * (trainer.max_epochs or 1)
