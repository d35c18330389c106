"""When a run keeps where it stands: every so many minutes or steps, at its end, and when it is asked to stop."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import distributed

from vitlab.data.module import Batch
from vitlab.data.order import ShuffledBatches, generator
from vitlab.training import checkpoint, snapshot
from vitlab.training.checkpoint import Checkpoint
from vitlab.training.halt import Halt, Halted
from vitlab.training.snapshot import Snapshot

_BETWEEN_EPOCHS = 10.0  # seconds: epochs shorter than that need no checkpoint each


class Often(NamedTuple):
    """How often: `minutes` go by, or `steps`, whichever is sooner. It changes nothing of what is trained."""

    minutes: float = 5.0
    steps: int | None = None


OFTEN = Often()


class Keeper(Callback):
    """Writes checkpoints between two steps, where everything fits together; comes after all that changes a run."""

    def __init__(
        self,
        folder: Path,
        run: Snapshot,
        order: ShuffledBatches,
        often: Often,
        halt: Halt,
        resumed: Checkpoint | None,
    ) -> None:
        self.folder, self.run, self.order, self.often, self.halt = folder, run, order, often, halt
        self.resumed = resumed
        self.last = time.monotonic()

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.resumed is not None:
            snapshot.place(trainer, self.resumed.state, int(trainer.limit_train_batches))

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.resumed is not None:
            self.run.put_back(trainer, self.resumed)
            self.resumed = None  # its tensors are copied
        elif self.order.share.rank:  # weights began alike in all processes, but each drops out for itself
            torch.manual_seed(generator("process", self.order.seed, self.order.share.rank).initial_seed())
        self.last = time.monotonic()
        self.halt.listen()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.fit_loop._should_accumulate() or batch_idx + 1 == trainer.num_training_batches:
            return
        due = time.monotonic() - self.last >= 60 * self.often.minutes
        due = due or (self.often.steps is not None and trainer.global_step % self.often.steps == 0)
        halted, due = self._agreed(trainer, self.halt.asked is not None, due)
        if halted or due:
            self._keep(trainer, trainer.current_epoch, batch_idx + 1)
        if halted:
            raise Halted

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        done = trainer.current_epoch + 1
        complete = trainer.should_stop or done == trainer.max_epochs
        due = time.monotonic() - self.last >= min(_BETWEEN_EPOCHS, 60 * self.often.minutes)
        due = due or (self.often.steps is not None and trainer.global_step % self.often.steps == 0)
        halted, due = self._agreed(trainer, self.halt.asked is not None, due)
        if halted or due or complete:
            self._keep(trainer, done, 0, complete)
        if halted:
            raise Halted

    def _keep(self, trainer: L.Trainer, epoch: int, batch: int, complete: bool = False) -> None:
        state, tensors = self.run.take(trainer, epoch, batch, complete)
        if trainer.is_global_zero:
            checkpoint.write(self.folder, state, tensors)
        trainer.strategy.barrier()  # none goes on, or ends, before it is there
        self.last = time.monotonic()

    def _agreed(self, trainer: L.Trainer, *mine: bool) -> tuple[bool, ...]:
        """True where it is so for any process: all of them keep at the same step, or none does."""
        if trainer.world_size == 1:
            return mine
        votes = torch.tensor(mine, dtype=torch.uint8, device=trainer.strategy.root_device)
        distributed.all_reduce(votes, distributed.ReduceOp.MAX)
        return tuple(bool(vote) for vote in votes.tolist())
