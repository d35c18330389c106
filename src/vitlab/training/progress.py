"""What a person watches: a bar with the time left, and the figures below it; plain lines where there is no terminal."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from vitlab.data.module import Batch
from vitlab.training.plan import Plan
from vitlab.training.record import Record
from vitlab.training.time_left import TimeLeft, batches_done, batches_in_all

_EVERY = 0.25  # seconds: to read the loss, a GPU has to come to the end of what it was given


class TwoLines(Progress):
    """A bar with what there is to say of the time; below it the figures, of which a narrow terminal cuts the last."""

    figures = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self.figures:
            yield Text(f"  {self.figures}", no_wrap=True, overflow="ellipsis")


class Watch(Callback):
    """Draws on standard error, so that standard output holds results alone."""

    def __init__(self, record: Record, left: TimeLeft, plan: Plan) -> None:
        self.record, self.left, self.peak = record, left, plan.machine.peak_gflops
        self.console = Console(stderr=True, highlight=False)
        self.bar: TwoLines | None = None
        self.task: Any = None
        self.drawn = 0.0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.console.is_terminal:
            columns = (TextColumn(" "), BarColumn(32), TextColumn("{task.description}"))
            self.bar = TwoLines(*columns, console=self.console, refresh_per_second=4)
            self.task = self.bar.add_task("", total=batches_in_all(trainer))
            self.bar.start()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if time.perf_counter() - self.drawn >= _EVERY:
            self._draw(trainer, f"{clock(self.left.seconds(trainer))} left")

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._draw(trainer, "validating")

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        left = f"{clock(self.left.seconds(trainer))} left"
        epochs = trainer.max_epochs or 1
        if self.bar is not None:
            self._draw(trainer, left)
        elif (trainer.current_epoch + 1) * 10 // epochs > trainer.current_epoch * 10 // epochs:
            print(f"  {_epoch(trainer)}  {left}  {self._figures(trainer)}", file=sys.stderr, flush=True)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop(f"trained in {clock(self.left.gone)}")

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self._stop(f"stopped after {clock(self.left.gone)}")

    def _draw(self, trainer: L.Trainer, time_left: str) -> None:
        if self.bar is not None:
            self.bar.figures = self._figures(trainer)
            said = f"{_epoch(trainer)}  {clock(self.left.gone)} gone, {time_left}"
            self.bar.update(self.task, completed=batches_done(trainer), description=said)
            self.drawn = time.perf_counter()

    def _stop(self, said: str) -> None:
        if self.bar is not None:
            self.bar.update(self.task, description=said)
            self.bar.stop()
            self.bar = None

    def _figures(self, trainer: L.Trainer) -> str:
        figures = self.record.epoch_figures
        val = trainer.callback_metrics.get("val_accuracy")
        parts = [
            f"loss {figures['train_loss']:.3f}",
            f"accuracy {figures['train_accuracy']:.1%}",
            f"validation {float(val):.1%}" if val is not None else "",
            f"{self.record.speed:,.0f} images/s",
            self._share(trainer),
        ]
        return "  ".join(part for part in parts if part)

    def _share(self, trainer: L.Trainer) -> str:
        """How much of what the machine could compute the model's products took."""
        if self.peak is None:
            return ""
        work = self.left.work.at((batches_done(trainer) - 1) / batches_in_all(trainer))
        share = self.record.speed * work / (self.peak * 1e9 * trainer.world_size)
        return f"{share:.{0 if share >= 0.01 else 1}%} of the peak"


def clock(seconds: float) -> str:
    """Minutes and seconds, and hours where there are any: 0:07, 12:34, 1:23:45."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def _epoch(trainer: L.Trainer) -> str:
    return f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"
