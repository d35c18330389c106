"""Somebody is told now and then where a run stands: often enough to look at, too seldom to matter.

Whoever is told must not touch the training, and draws no random number.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import lightning as L
from lightning.pytorch.callbacks import Callback

from vitlab.training.time_left import TimeLeft, batches_done, batches_in_all

FIRST = 1.0  # seconds after the first batch
EVERY = 5.0  # at least from one telling to the next,
TIMES = 100.0  # and so many times as long as the last one took: all of them take 1 % of a run at most


class Stand(NamedTuple):
    """Where a run is: epochs counted from 1, the share of all batches that are done, and seconds."""

    epoch: int
    epochs: int
    share: float
    left: float  # until the last step
    again: float  # until it is told next, if batches take no longer than they have


Tell = Callable[[Stand], None]


class NowAndThen(Callback):
    """Calls a function after a batch of training or of validation, when it is time to."""

    def __init__(self, tell: Tell, left: TimeLeft) -> None:
        self.tell, self.left = tell, left
        self.due = self.took = self.gap = 0.0
        self.last: float | None = None

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        self._perhaps(trainer)

    def on_validation_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        self._perhaps(trainer)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._perhaps(trainer)

    def _perhaps(self, trainer: L.Trainer) -> None:
        now = time.perf_counter()
        if self.last is None:
            self.due = now + FIRST
        else:
            self.gap = max(self.gap, now - self.last)
        self.last = now
        if now < self.due:
            return
        stand = Stand(
            epoch=trainer.current_epoch + 1,
            epochs=trainer.max_epochs or 1,
            share=batches_done(trainer) / batches_in_all(trainer),
            left=self.left.seconds(trainer),
            again=max(self._wait, self.gap),
        )
        self.tell(stand)
        self.last = time.perf_counter()
        self.took = self.last - now
        self.due = self.last + self._wait

    @property
    def _wait(self) -> float:
        return max(EVERY, TIMES * self.took)
