"""The moving average of the weights (EMA): what is validated, kept as the best, and left in the bundle.

Lightning's averages cannot be sharded and hide the weights inside a copy of the model. This one is a list of tensors
that lie as the model's own do, so that each process averages what it holds.
"""

from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from vitlab.data.module import Batch
from vitlab.training.sharded import local


class Average(Callback):
    """a <- d a + (1 - d) w after every step of the optimizer; after the first one a = w. Counts are copied."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay, self.steps = model, decay, 0
        self.values: dict[str, Tensor] = {}
        self.pairs: list[tuple[Tensor, Tensor]] = []  # each average beside the model's tensor, what is held here
        self.held: list[Tensor] = []

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        weights = self.model.state_dict()
        self.values = {name: tensor.detach().clone() for name, tensor in weights.items()}
        self.pairs = [(local(self.values[name]), local(tensor)) for name, tensor in weights.items()]

    @torch.no_grad()
    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step == self.steps:  # a batch in parts, not all of them done
            return
        smooth = [(mine, now) for mine, now in self.pairs if mine.is_floating_point()]
        if self.steps and smooth:
            torch._foreach_lerp_([mine for mine, _ in smooth], [now for _, now in smooth], 1 - self.decay)
        for mine, now in self.pairs:
            if not self.steps or not mine.is_floating_point():
                mine.copy_(now)
        self.steps = trainer.global_step

    @torch.no_grad()
    def on_validation_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.held = [now.clone() for _, now in self.pairs]
        for mine, now in self.pairs:
            now.copy_(mine)

    @torch.no_grad()
    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        for (_, now), held in zip(self.pairs, self.held, strict=True):
            now.copy_(held)
        self.held = []
