"""The one LightningModule: a model, an objective and an optimizer, and no knowledge of which objective it is."""

from typing import Any

import lightning as L
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn

from vitlab.data.module import Batch
from vitlab.training.curriculum import Curriculum
from vitlab.training.objectives.objective import Objective
from vitlab.training.optimizers.build import optimizer
from vitlab.training.recipe import Recipe
from vitlab.training.schedule import factor


class Learner(L.LightningModule):
    """One step of training and of validation, for any objective."""

    def __init__(
        self, model: nn.Module, objective: Objective, recipe: Recipe, steps: int, products: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.model, self.objective, self.recipe, self.steps = model, objective, recipe, steps
        self.products = products  # in which the optimizer multiplies matrices, where it does
        self.curriculum = Curriculum(model, recipe.stages, steps)

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Tensor]:
        images, targets = batch
        outcome = self.objective(self.model, self.curriculum.show(images, self.global_step), targets)
        return {"loss": outcome.loss, "shown_loss": outcome.loss.detach(), "correct": outcome.correct}

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        outcome = self.objective(self.model, *batch)
        accuracy = outcome.correct.float() / outcome.images
        self.log_dict(
            {"val_loss": outcome.loss, "val_accuracy": accuracy},
            batch_size=outcome.images,
            on_epoch=True,
            sync_dist=True,
        )

    def configure_optimizers(self) -> OptimizerLRScheduler:
        chosen = optimizer(self.model, self.recipe, self.products)
        schedule = torch.optim.lr_scheduler.LambdaLR(chosen, factor(self.recipe, self.steps))
        return {"optimizer": chosen, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: torch.optim.Optimizer, *_: Any, **__: Any) -> None:
        """Clip by norm ourselves: Lightning refuses to with a fused optimizer in mixed precision."""
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs)
