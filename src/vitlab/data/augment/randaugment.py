"""RandAugment (Cubuk et al. 2020): a few operations drawn from a list for each image, all at one strength."""

from typing import Literal

import torch
from pydantic import Field
from torch import Generator

from vitlab.data.augment import batched
from vitlab.data.augment.operations import BOTTOM, drawn
from vitlab.data.augment.step import Images, Step, Targets
from vitlab.errors import UserError


class RandAugment(Step):
    """So many of the fourteen operations, each at `magnitude` of 30, for images of one or three channels."""

    kind: Literal["rand_augment"] = "rand_augment"
    operations: int = Field(default=2, ge=1, le=10)
    magnitude: int = Field(default=10, ge=1, le=BOTTOM)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        channels = images.shape[1]
        if channels not in (1, 3):
            raise UserError(f"rand_augment varies images of 1 or 3 channels, not {channels}; leave it out")
        which, signs = drawn(len(images), self.operations, generator)
        varied = images.round().clamp(0, 255).to(torch.uint8)
        for i in range(self.operations):
            varied = batched.vary(varied, which[:, i], signs[:, i], self.magnitude)
        return varied.float(), targets
