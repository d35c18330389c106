"""Turned, moved, scaled and slanted: one affine map an image, sampled bilinearly, black beyond the border."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Generator, Tensor
from torch.nn import functional

from vitlab.data.augment.step import Images, Step, Targets, draw


class Affine(Step):
    """How far an image may be turned, moved, scaled and slanted, each image by its own draw."""

    kind: Literal["affine"] = "affine"
    rotate: float = Field(default=0.0, ge=0, le=180, description="degrees, either way")
    shift: float = Field(default=0.0, ge=0, le=1, description="share of the side, either way")
    scale: float = Field(default=0.0, ge=0, lt=1, description="0.1 means 0.9 to 1.1 times the size, each axis its own")
    shear: float = Field(default=0.0, ge=0, lt=90, description="degrees, either way")

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        maps = self._maps(len(images), images.shape[2:], generator).to(images.device)
        grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, align_corners=False), targets

    def _maps(self, count: int, shape: torch.Size, generator: Generator) -> Float[Tensor, "B 2 3"]:
        """From where a pixel lands to where it comes from, in units of half a side."""

        def either(most: float) -> Tensor:
            return draw(count, generator, -most, most)

        angle, slant = either(math.radians(self.rotate)), either(math.radians(self.shear)).tan()
        wide, high = 1 + either(self.scale), 1 + either(self.scale)
        right, down = either(2 * self.shift), either(2 * self.shift)
        aspect = shape[0] / shape[1]  # a turn is a turn in pixels, not in shares of unequal sides
        cos, sin = angle.cos(), angle.sin()
        across = torch.stack([cos / wide, (cos * slant - sin) / high * aspect, right], dim=1)
        along = torch.stack([sin / wide / aspect, (cos + sin * slant) / high, down], dim=1)
        return torch.stack([across, along], dim=1)
