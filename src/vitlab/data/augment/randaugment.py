"""RandAugment (Cubuk et al. 2020): a few operations drawn from a list for each image, all at one strength."""

from typing import Literal

import torch
from pydantic import Field
from torch import Generator

from vitlab.data.augment import batched, single
from vitlab.data.augment.operations import BOTTOM, drawn
from vitlab.data.augment.step import Change, Images, Picture, Single, Targets
from vitlab.errors import UserError


class RandAugment(Single):
    """So many of the fourteen operations, each at `magnitude` of 30, for images of one or three channels."""

    kind: Literal["rand_augment"] = "rand_augment"
    operations: int = Field(default=2, ge=1, le=10)
    magnitude: int = Field(default=10, ge=1, le=BOTTOM)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        _check_channels(images.shape[1])
        which, signs = drawn(len(images), self.operations, generator)
        varied = images.round().clamp(0, 255).to(torch.uint8)
        for i in range(self.operations):
            varied = batched.vary(varied, which[:, i], signs[:, i], self.magnitude)
        return varied.float(), targets

    def singly(self, count: int, size: tuple[int, int], generator: Generator) -> list[Change]:
        which, signs = drawn(count, self.operations, generator)

        def change(operations: list[int], directions: list[int]) -> Change:
            def vary(picture: Picture) -> Picture:
                _check_channels(picture.shape[2])
                return single.vary(picture, operations, directions, self.magnitude)

            return vary

        return [change(*pair) for pair in zip(which.tolist(), signs.tolist(), strict=True)]


def _check_channels(channels: int) -> None:
    if channels not in (1, 3):
        raise UserError(f"rand_augment varies images of 1 or 3 channels, not {channels}; leave it out")
