"""Training images varied, a whole batch at once on the device.

An `Augment` is data, so that a plan can record it; its `apply` draws from the generator it is given, so that a step
repeats itself exactly.
"""

import math
from typing import Self

import torch
from jaxtyping import Float, UInt8
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Generator, Tensor
from torch.nn import functional

from vitlab.errors import UserError


class Augment(BaseModel):
    """How far a training image may be turned, moved, scaled and slanted, and whether it may be mirrored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rotate: float = Field(default=0.0, ge=0, description="degrees, either way")
    shift: float = Field(default=0.0, ge=0, description="share of the side, either way")
    scale: float = Field(default=0.0, ge=0, lt=1, description="0.1 means 0.9 to 1.1 times the size, each axis its own")
    shear: float = Field(default=0.0, ge=0, description="degrees, either way")
    flip: bool = Field(default=False, description="mirror left and right with even chance")

    @model_validator(mode="after")
    def _keeps_the_image(self) -> Self:
        if self.rotate > 180 or self.shear >= 90 or self.shift > 1:
            raise UserError("rotate wants at most 180 degrees, shear less than 90, shift at most 1")
        return self

    def apply(self, images: UInt8[Tensor, "B channels X Y"], generator: Generator) -> UInt8[Tensor, "B channels X Y"]:
        """The batch varied, each image by its own draw; bilinear, black beyond the border."""
        if self == Augment():
            return images
        grid = functional.affine_grid(
            self._maps(len(images), images.shape[2:], generator).to(images.device),
            list(images.shape),
            align_corners=False,
        )
        moved = functional.grid_sample(images.float(), grid, align_corners=False)
        return moved.round().to(torch.uint8)

    def _maps(self, count: int, shape: torch.Size, generator: Generator) -> Float[Tensor, "B 2 3"]:
        """One affine map an image, from where a pixel lands to where it comes from, in units of half a side."""

        def draw(most: float) -> Tensor:
            return (torch.rand(count, generator=generator) * 2 - 1) * most

        angle, slant = draw(math.radians(self.rotate)), draw(math.radians(self.shear)).tan()
        wide, high = 1 + draw(self.scale), 1 + draw(self.scale)
        right, down = draw(2 * self.shift), draw(2 * self.shift)
        mirror = 1 - 2 * (torch.rand(count, generator=generator) < 0.5).float() if self.flip else torch.ones(count)
        aspect = shape[0] / shape[1]  # a turn is a turn in pixels, not in shares of unequal sides
        cos, sin = angle.cos(), angle.sin()
        across = torch.stack([mirror * cos / wide, mirror * (cos * slant - sin) / high * aspect, right], dim=1)
        along = torch.stack([sin / wide / aspect, (cos + sin * slant) / high, down], dim=1)
        return torch.stack([across, along], dim=1)
