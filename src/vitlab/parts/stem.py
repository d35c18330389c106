"""The first convolution of a residual network, and how far it shrinks the image before the first stage."""

from abc import abstractmethod
from typing import Literal

from torch import nn

from vitlab.parts.part import Part

Pair = tuple[int, int]


class Stem(Part, slot=True):
    """From pixels to the first map of features."""

    @abstractmethod
    def convolution(self, channels: int, width: int) -> nn.Conv2d: ...

    @abstractmethod
    def shrink(self) -> nn.Module:
        """What follows the convolution's norm."""

    @abstractmethod
    def grid(self, image: Pair) -> Pair:
        """Rows and columns of the first map."""


class Wide(Stem):
    """7x7 with stride 2, then the largest of each 3x3 with stride 2: a map a quarter of the image (He et al. 2016)."""

    kind: Literal["wide"] = "wide"

    def convolution(self, channels: int, width: int) -> nn.Conv2d:
        return nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)

    def shrink(self) -> nn.Module:
        return nn.MaxPool2d(3, stride=2, padding=1)

    def grid(self, image: Pair) -> Pair:
        return halved(halved(image))


class Small(Stem):
    """3x3 with stride 1 and nothing more: images of 32 pixels have none to give away (He et al. 2016, section 4.2)."""

    kind: Literal["small"] = "small"

    def convolution(self, channels: int, width: int) -> nn.Conv2d:
        return nn.Conv2d(channels, width, 3, padding=1, bias=False)

    def shrink(self) -> nn.Module:
        return nn.Identity()

    def grid(self, image: Pair) -> Pair:
        return image


def halved(grid: Pair) -> Pair:
    """Rows and columns after a stride of 2; an odd one out is kept."""
    return -(-grid[0] // 2), -(-grid[1] // 2)
