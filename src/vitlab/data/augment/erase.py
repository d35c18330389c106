"""A rectangle taken away (Zhong et al. 2020, Random Erasing)."""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from vitlab.data.augment.step import Images, Step, Targets, draw


class Erase(Step):
    """With this chance, a rectangle of 2 % to a third of the picture is filled with noise."""

    kind: Literal["erase"] = "erase"
    chance: float = Field(default=0.25, ge=0, le=1)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        inside = self._rectangles(len(images), images.shape[2:], generator).to(images.device)
        noise = torch.rand(images.shape, generator=generator).to(images.device) * 255
        return torch.where(inside[:, None], noise, images), targets

    def _rectangles(self, count: int, shape: torch.Size, generator: Generator) -> Tensor:
        """Which pixels of each image are taken: sides by area and shape, the corner anywhere they fit."""
        area = draw(count, generator, 0.02, 1 / 3) * shape[0] * shape[1]
        aspect = draw(count, generator, math.log(0.3), math.log(1 / 0.3)).exp()
        taken = draw(count, generator) < self.chance
        inside = taken[:, None, None]
        for axis, long in ((0, (area * aspect).sqrt()), (1, (area / aspect).sqrt())):
            side = long.round().clamp(1, shape[axis])
            start = (draw(count, generator) * (shape[axis] - side + 1)).floor()
            place = torch.arange(shape[axis])
            along = (place >= start[:, None]) & (place < (start + side)[:, None])
            inside = inside & (along[:, :, None] if axis == 0 else along[:, None, :])
        return inside
