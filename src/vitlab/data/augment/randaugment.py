"""RandAugment (Cubuk et al. 2020): a few operations drawn from a list, all at one strength."""

from typing import Literal

import torch
from pydantic import Field
from torch import Generator

from vitlab.data.augment.step import Images, Step, Targets
from vitlab.errors import UserError


class RandAugment(Step):
    """So many operations of kornia's list, each at `magnitude` of 30, for images of one or three channels.

    kornia draws operations a batch, not an image: the batch is cut into slices that draw their own.
    """

    kind: Literal["rand_augment"] = "rand_augment"
    operations: int = Field(default=2, ge=1, le=10)
    magnitude: int = Field(default=10, ge=1, le=29)
    slices: int = Field(default=16, ge=1)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        from kornia.augmentation.auto import RandAugment as KorniaRandAugment  # seconds to import: only where used

        channels = images.shape[1]
        if channels not in (1, 3):
            raise UserError(f"rand_augment varies images of 1 or 3 channels, not {channels}; leave it out")
        seed = int(torch.randint(2**31, (), generator=generator))
        vary = KorniaRandAugment(n=self.operations, m=self.magnitude)
        with torch.random.fork_rng(devices=[images.device] if images.is_cuda else []):
            torch.manual_seed(seed)  # kornia draws from the global generator
            parts = (images / 255).expand(-1, 3, -1, -1).chunk(self.slices)  # grey as a colour picture
            return torch.cat([vary(part)[:, :channels] for part in parts]) * 255, targets
