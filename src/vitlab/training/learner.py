"""The one LightningModule: a model, an objective and an optimizer, and no knowledge of which objective it is."""

from typing import Any, Self

import lightning as L
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor

from vitlab.data.module import Batch
from vitlab.models.blueprint import Model
from vitlab.training.curriculum import Curriculum
from vitlab.training.frozen import hold
from vitlab.training.objectives.objective import Objective
from vitlab.training.optimizers.build import optimizer
from vitlab.training.optimizers.pace import divided, paces
from vitlab.training.recipe import Recipe
from vitlab.training.schedule import factor, waiting_factor
from vitlab.training.strategy import shard


class Learner(L.LightningModule):
    """One step of training and of validation, for any objective."""

    def __init__(
        self, model: Model, objective: Objective, recipe: Recipe, steps: int, products: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.model, self.objective, self.recipe, self.steps = model, objective, recipe, steps
        self.products = products  # in which the optimizer multiplies matrices, where it does
        self.exact = torch.float64 if products == torch.float64 else torch.float32  # of images and weights
        self.curriculum = Curriculum(model, recipe.stages, steps)
        self.frozen = hold(model, recipe)

    def configure_model(self) -> None:
        """Called in every process, before there is an optimizer."""
        if self.device_mesh is not None:
            shard(self.model, self.device_mesh["data_parallel"])

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Tensor]:
        images, targets = batch
        images = self.curriculum.show(images.to(self.exact), self.global_step)
        outcome = self.objective(self.model, images, targets)
        return {"loss": outcome.loss, "shown_loss": outcome.loss.detach(), "correct": outcome.correct}

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        images, targets = batch
        outcome = self.objective(self.model, images.to(self.exact), targets)
        accuracy = outcome.correct.float() / outcome.images
        self.log_dict(
            {"val_loss": outcome.loss, "val_accuracy": accuracy},
            batch_size=outcome.images,
            on_epoch=True,
            sync_dist=True,
        )

    def configure_optimizers(self) -> OptimizerLRScheduler:
        paced = paces(self.model, self.recipe.rates)
        chosen = divided(optimizer(self.model, self.recipe, self.products), paced)
        now, later = factor(self.recipe, self.steps), waiting_factor(self.recipe, self.steps)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            chosen, [later if group["waits"] else now for group in chosen.param_groups]
        )
        return {"optimizer": chosen, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: torch.optim.Optimizer, *_: Any, **__: Any) -> None:
        """Clip by norm ourselves: Lightning refuses to with a fused optimizer in mixed precision."""
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for module in self.frozen:
            module.eval()
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs)
