"""The first convolution of a tower: 2x2 pixels to a few values, learned or taken from the images themselves."""

from abc import abstractmethod
from typing import Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from vitlab.parts.part import Part
from vitlab.parts.sighted import Sighted

SIDE = 2


class Filters(Part, slot=True):
    """What a tower first makes of each 2x2 pixels."""

    @abstractmethod
    def build(self, channels: int) -> nn.Conv2d:
        """A convolution of stride 1 without padding; its `out_channels` say how many values there are."""


class Learned(Filters):
    """Filters that learn like everything else."""

    kind: Literal["learned"] = "learned"
    count: int = Field(default=24, ge=1, le=65_536)

    def build(self, channels: int) -> nn.Conv2d:
        return nn.Conv2d(channels, self.count, SIDE)


class Whitening(Filters):
    """The directions in which 2x2 pixels of the training images vary, each at the same strength, with either sign.

        filters = +-V (D + least max(D))^(-1/2),  V D V^T the covariance of the images' 2x2 pixels

    Neighbouring pixels are nearly equal, so that what a convolution learns first is to see past their mean. Filters
    that see past it from the start, and stay as they are, save a short run that time (Jordan 2024, airbench).
    """

    kind: Literal["whitening"] = "whitening"
    least: float = Field(default=5e-4, gt=0, le=1, description="added to each variance, as a share of the largest")

    def build(self, channels: int) -> nn.Conv2d:
        return _Whitening(channels, self.least)


class _Whitening(nn.Conv2d, Sighted):
    def __init__(self, channels: int, least: float) -> None:
        super().__init__(channels, 2 * channels * SIDE**2, SIDE)
        self.least = least
        self.weight.requires_grad_(False)

    @torch.no_grad()
    def see(self, images: Float[Tensor, "B channels X Y"]) -> None:
        places, count = self.weight[0].numel(), 0
        products = torch.zeros(places, places, dtype=torch.float64)
        for some in images.split(64):
            pixels = functional.unfold(some.double(), SIDE).transpose(1, 2).flatten(0, 1)
            products += pixels.T @ pixels
            count += len(pixels)
        strength, directions = torch.linalg.eigh(products / count)
        half = (directions / (strength + self.least * strength.max()).sqrt()).T
        self.weight.copy_(torch.cat([half, -half]).view_as(self.weight))
