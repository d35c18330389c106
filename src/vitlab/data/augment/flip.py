"""Left and right changed over."""

from typing import Literal

import torch
from pydantic import Field
from torch import Generator

from vitlab.data.augment.step import Images, Step, Targets, draw


class Flip(Step):
    """Each image mirrored with this chance."""

    kind: Literal["flip"] = "flip"
    chance: float = Field(default=0.5, ge=0, le=1)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        mirrored = (draw(len(images), generator) < self.chance).to(images.device)
        return torch.where(mirrored[:, None, None, None], images.flip(3), images), targets
