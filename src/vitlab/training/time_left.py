"""How far a run is and how long the rest takes, at the pace that it has had since it began or went on."""

import time
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from vitlab.training.work import Work


class TimeLeft(Callback):
    """Counts by what is computed rather than by steps, since a stage of a recipe may show less of each image."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.start, self.begun = time.perf_counter(), -1  # batches done before, where a run goes on

    def on_train_batch_start(self, trainer: L.Trainer, *_: Any) -> None:
        if self.begun < 0:
            self.start, self.begun = time.perf_counter(), trainer.fit_loop.epoch_loop.total_batch_idx

    @property
    def gone(self) -> float:
        """Seconds since then."""
        return time.perf_counter() - self.start

    def seconds(self, trainer: L.Trainer) -> float:
        """Seconds that are left; only once a batch is done."""
        begun, now, end = (
            self.work.until(batches / batches_in_all(trainer))
            for batches in (self.begun, batches_done(trainer), batches_in_all(trainer))
        )
        return self.gone / (now - begun) * (end - now)


def batches_done(trainer: L.Trainer) -> int:
    """Of the whole run, at the end of a batch or of an epoch."""
    return trainer.fit_loop.epoch_loop.total_batch_idx + 1


def batches_in_all(trainer: L.Trainer) -> int:
    """Of the whole run, if nothing stops it early."""
    return int(trainer.num_training_batches) * (trainer.max_epochs or 1)
