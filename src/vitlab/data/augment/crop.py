"""Another part of the picture: moved by whole pixels, or a random piece enlarged to the whole."""

import math
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Generator
from torch.nn import functional

from vitlab.data.augment.step import Images, Step, Targets, draw
from vitlab.errors import UserError


class PadCrop(Step):
    """Moved by up to so many pixels either way, each image by its own draw; black around (He et al. 2016)."""

    kind: Literal["pad_crop"] = "pad_crop"
    pixels: int = Field(default=4, ge=0)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        count, _, height, width = images.shape
        padded = functional.pad(images, [self.pixels] * 4)
        down, right = (
            torch.randint(2 * self.pixels + 1, (count, 1), generator=generator).to(images.device) for _ in range(2)
        )
        rows = down + torch.arange(height, device=images.device)
        columns = right + torch.arange(width, device=images.device)
        rows = rows[:, None, :, None].expand(-1, images.shape[1], -1, padded.shape[3])
        moved = padded.gather(2, rows)
        columns = columns[:, None, None, :].expand(-1, images.shape[1], height, -1)
        return moved.gather(3, columns), targets


class ResizedCrop(Step):
    """A piece of this share of the area and this range of shapes, enlarged to the whole (Szegedy et al. 2015).

    The pieces' shapes are drawn evenly in the logarithm; one that does not fit is drawn in to the picture's side.
    """

    kind: Literal["resized_crop"] = "resized_crop"
    area: tuple[float, float] = (0.08, 1.0)
    shape: tuple[float, float] = (3 / 4, 4 / 3)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not 0 < self.area[0] <= self.area[1] <= 1 or not 0 < self.shape[0] <= self.shape[1]:
            raise UserError("area wants two shares of (0, 1] and shape two ratios above 0, the smaller first")
        return self

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        count, _, height, width = images.shape
        area = draw(count, generator, *self.area) * height * width
        shape = draw(count, generator, math.log(self.shape[0]), math.log(self.shape[1])).exp()
        wide = (area * shape).sqrt().clamp(1, width)
        high = (area / shape).sqrt().clamp(1, height)
        left, top = draw(count, generator) * (width - wide), draw(count, generator) * (height - high)
        scale_x, scale_y = wide / width, high / height
        middle_x, middle_y = (2 * left + wide) / width - 1, (2 * top + high) / height - 1
        zero = torch.zeros(count)
        maps = torch.stack(
            [torch.stack([scale_x, zero, middle_x], dim=1), torch.stack([zero, scale_y, middle_y], dim=1)], dim=1
        )
        grid = functional.affine_grid(maps.to(images.device), list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="border", align_corners=False), targets
