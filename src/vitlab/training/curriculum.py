"""A recipe's stages carried out: smaller images, and patches left out, while a model trains.

Patches are left out by a hook on the model's positions: each token is told its place first, and the blocks then see
fewer of them (Liu et al. 2022, PatchDropout). The model itself knows nothing of it.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint
from vitlab.training import stage as stages_of
from vitlab.training.stage import Stage


class Curriculum:
    """Shows a model what the stage of the run lets it see."""

    def __init__(self, model: nn.Module, stages: Sequence[Stage], steps: int) -> None:
        self.stages, self.steps, self.keep = stages, steps, 1.0
        if any(stage.keep < 1 for stage in stages):
            position, before = getattr(model, "position", None), getattr(getattr(model, "prefix", None), "table", None)
            if position is None:
                raise UserError("this model has no patches to leave out; take keep out of the recipe's stages")
            self.prefix = 0 if before is None else before.num_embeddings
            position.register_forward_hook(self._thin)

    def show(self, images: Float[Tensor, "B channels X Y"], step: float) -> Float[Tensor, "B channels x y"]:
        """The images as this step of training sees them; from here on patches are left out as it asks for."""
        stage = stages_of.at(self.stages, step / self.steps)
        self.keep = stage.keep
        if stage.side is None or stage.side == min(images.shape[2:]):
            return images
        shrink = stage.side / min(images.shape[2:])
        size = [round(side * shrink) for side in images.shape[2:]]
        return functional.interpolate(images, size=size, mode="bilinear", antialias=True)

    def _thin(self, position: nn.Module, inputs: Any, tokens: Float[Tensor, "B N D"]) -> Float[Tensor, "B n D"] | None:
        """Some patches of each image, drawn evenly, in their order; the tokens before them stay."""
        if not position.training or self.keep == 1.0:
            return None
        prefix, patches = tokens[:, : self.prefix], tokens[:, self.prefix :]
        count = max(math.ceil(patches.shape[1] * self.keep), 1)
        drawn = torch.rand(patches.shape[:2], device=tokens.device).topk(count, dim=1).indices.sort(dim=1).values
        kept = patches.gather(1, drawn[:, :, None].expand(-1, -1, patches.shape[2]))
        return torch.cat([prefix, kept], dim=1)


def check(blueprint: Blueprint, stages: Sequence[Stage]) -> None:
    """Try every stage on the meta device, where nothing is computed: what does not fit is refused before a run."""
    if not stages:
        return
    with torch.device("meta"):
        model = blueprint.build()
        curriculum = Curriculum(model, stages, steps=1)
        for stage in stages:
            images = torch.empty(2, blueprint.channels, *blueprint.image)
            try:
                model(curriculum.show(images, step=_before(stage, stages)))
            except UserError as error:
                raise UserError(f"the recipe's stage until {stage.until}: {error}") from None
            except RuntimeError:
                raise UserError(
                    f"the recipe's stage until {stage.until}: the attention of {blueprint.name} is laid out for all "
                    "patches; take side and keep out of the stage"
                ) from None


def _before(stage: Stage, stages: Sequence[Stage]) -> float:
    """A place in the run at which this stage holds."""
    return next((earlier.until for earlier in reversed(stages) if earlier.until < stage.until), 0.0)
