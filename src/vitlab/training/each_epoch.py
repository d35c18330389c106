"""Somebody looks at the model in each epoch: a function of model and epoch, trusted to change nothing.

It is called after the epoch's last step and before the validation, while the gradients of that step are still there.
"""

from collections.abc import Callable
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from vitlab.data.module import Batch
from vitlab.models.blueprint import Model

Look = Callable[[Model, int], None]


class EachEpoch(Callback):
    """Calls a function in each epoch, with the model and the epoch counted from 1."""

    def __init__(self, look: Look, model: Model) -> None:
        self.look, self.model = look, model

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if batch_idx + 1 == trainer.num_training_batches and trainer.is_global_zero:
            self.look(self.model, trainer.current_epoch + 1)
