"""What a run computes, from its first step to its last: less where a stage of the recipe shows less of each image."""

from functools import partial

import torch
from torch import Tensor, nn

from vitlab.models.blueprint import Blueprint
from vitlab.models.cost import flops
from vitlab.training.curriculum import Curriculum
from vitlab.training.frozen import hold
from vitlab.training.recipe import Recipe
from vitlab.training.stage import WHOLE

_IMAGES = 2  # batch norm wants more than one


class Work:
    """Floating-point operations of an image, there and back, in each stretch of a run.

    They are those of the products that the model and its gradient need: of frozen parts, the way there alone.
    """

    def __init__(self, blueprint: Blueprint, recipe: Recipe) -> None:
        whole = () if recipe.stages and recipe.stages[-1].until == 1 else (WHOLE,)
        self.ends = [stage.until for stage in (*recipe.stages, *whole)]
        with torch.device("meta"):
            model = blueprint.build()
            hold(model, recipe)
            curriculum = Curriculum(model, recipe.stages, steps=1)
            images = torch.empty(_IMAGES, blueprint.channels, *blueprint.image)
            self.flops = [flops(partial(_step, model, curriculum, images, begin)) / _IMAGES for begin, _ in self._spans]
            # Of whole images, with which most runs end, it is known by now.
            self.whole = self.flops[-1] if whole else flops(partial(_step, model, curriculum, images, 1.0)) / _IMAGES

    @property
    def _spans(self) -> list[tuple[float, float]]:
        return list(zip([0.0, *self.ends], self.ends, strict=False))

    def at(self, way: float) -> float:
        """Operations of an image at a share of the run from 0 to 1."""
        return next((here for end, here in zip(self.ends, self.flops, strict=True) if way < end), self.flops[-1])

    def until(self, way: float) -> float:
        """What is computed until then: 1 for a run whose images are whole from the first step to the last."""
        spans = zip(self._spans, self.flops, strict=True)
        return sum(here * max(min(way, end) - begin, 0.0) for (begin, end), here in spans) / self.whole


def _step(model: nn.Module, curriculum: Curriculum, images: Tensor, way: float) -> None:
    model(curriculum.show(images, way)).sum().backward()
