"""Two images in one, with the targets to match: MixUp and CutMix."""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Generator

from vitlab.data.augment.step import Images, Step, Targets
from vitlab.errors import UserError


class Mix(Step):
    """MixUp (Zhang et al. 2018) or CutMix (Yun et al. 2019), one of them for each batch.

    MixUp: w x_i + (1 - w) x_j with w from Beta(mixup, mixup). CutMix: a rectangle of share 1 - w of x_j laid on x_i, w
    from Beta(cutmix, cutmix) and then corrected to the pixels that fitted. Targets become w y_i + (1 - w) y_j; j is i
    counted from the other end, as the batch is in random order anyway. Zero leaves a method out; with both, each batch
    takes either with even chance.
    """

    kind: Literal["mix"] = "mix"
    mixup: float = Field(default=0.8, ge=0)
    cutmix: float = Field(default=1.0, ge=0)
    chance: float = Field(default=1.0, ge=0, le=1)

    @model_validator(mode="after")
    def _mixes_at_all(self) -> Self:
        if not self.mixup and not self.cutmix:
            raise UserError("mixup and cutmix are both zero; leave the step out, or give one of them")
        return self

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        mixing, cutting = torch.rand(2, generator=generator).tolist()
        if mixing >= self.chance:
            return images, targets
        if self.cutmix and (not self.mixup or cutting < 0.5):
            mixed, weight = self._cut(images, beta(self.cutmix, generator), generator)
        else:
            weight = beta(self.mixup, generator)
            mixed = weight * images + (1 - weight) * images.flip(0)
        return mixed, weight * targets + (1 - weight) * targets.flip(0)

    def _cut(self, images: Images, weight: float, generator: Generator) -> tuple[Images, float]:
        height, width = images.shape[2:]
        share = (1 - weight) ** 0.5
        middle = torch.rand(2, generator=generator).tolist()
        (top, bottom), (left, right) = (
            (max(round(m * side - share * side / 2), 0), min(round(m * side + share * side / 2), side))
            for m, side in zip(middle, (height, width), strict=True)
        )
        mixed = images.clone()
        mixed[:, :, top:bottom, left:right] = images.flip(0)[:, :, top:bottom, left:right]
        return mixed, 1 - (bottom - top) * (right - left) / (height * width)


def beta(alpha: float, generator: Generator) -> float:
    """A draw of Beta(alpha, alpha) as a ratio of gamma draws, from our own generator."""
    first, second = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator).tolist()
    return float(first / (first + second)) if first + second else 0.5
