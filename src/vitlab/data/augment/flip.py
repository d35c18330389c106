"""Left and right changed over."""

from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from vitlab.data.augment.step import Change, Images, Picture, Single, Targets, draw


class Flip(Single):
    """Each image mirrored with this chance."""

    kind: Literal["flip"] = "flip"
    chance: float = Field(default=0.5, ge=0, le=1)

    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        mirrored = self._mirrored(len(images), generator).to(images.device)
        return torch.where(mirrored[:, None, None, None], images.flip(3), images), targets

    def singly(self, count: int, size: tuple[int, int], generator: Generator) -> list[Change]:
        return [_mirror if mirrored else _leave for mirrored in self._mirrored(count, generator).tolist()]

    def _mirrored(self, count: int, generator: Generator) -> Tensor:
        return draw(count, generator) < self.chance


def _mirror(picture: Picture) -> Picture:
    return picture[:, ::-1]


def _leave(picture: Picture) -> Picture:
    return picture
