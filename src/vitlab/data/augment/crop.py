"""Another part of the picture: moved by whole pixels, or a random piece enlarged to the whole."""

import math
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Generator, Tensor
from torch.nn import functional

from vitlab.data.augment.step import Change, Images, Picture, Single, Step, Targets, draw
from vitlab.data.scale import resized
from vitlab.errors import UserError

Draws = tuple[float, float, float, float]  # of one piece: share of the area, shape, place across and down


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


class ResizedCrop(Single):
    """A piece of this share of the area and this range of shapes, enlarged to the whole (Szegedy et al. 2015).

    The pieces' shapes are drawn evenly in the logarithm; one that does not fit is drawn in to the picture's side. First
    in a recipe, it cuts from the pictures as they are stored, before they are brought to the model's size.
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
        height, width = images.shape[2:]
        draws = self._draws(len(images), generator)
        top, left, high, wide = torch.tensor([self.box(d, height, width) for d in draws], device=images.device).T
        rows, columns = _inside(top, high, height), _inside(left, wide, width)
        grid = torch.stack(
            [columns[:, None, :].expand(-1, height, -1), rows[:, :, None].expand(-1, -1, width)], dim=3
        ).to(images)
        return functional.grid_sample(images, grid, align_corners=False), targets

    def singly(self, count: int, size: tuple[int, int], generator: Generator) -> list[Change]:
        """Cut from a picture of any size, and scaled to the model's."""

        def change(draws: Draws) -> Change:
            def cut(picture: Picture) -> Picture:
                top, left, high, wide = self.box(draws, *picture.shape[:2])
                return resized(picture[top : top + high, left : left + wide], size)

            return cut

        return [change(draws) for draws in self._draws(count, generator)]

    def box(self, draws: Draws, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, rows and columns of a piece, in whole pixels of a picture of this size."""
        area, shape, across, down = draws
        wide = min(max(round(math.sqrt(area * height * width * shape)), 1), width)
        high = min(max(round(math.sqrt(area * height * width / shape)), 1), height)
        return round(down * (height - high)), round(across * (width - wide)), high, wide

    def _draws(self, count: int, generator: Generator) -> list[Draws]:
        area = draw(count, generator, *self.area)
        shape = draw(count, generator, math.log(self.shape[0]), math.log(self.shape[1])).exp()
        places = draw(count, generator), draw(count, generator)
        return list(zip(*(numbers.tolist() for numbers in (area, shape, *places)), strict=True))


def _inside(start: Tensor, length: Tensor, side: int) -> Tensor:
    """For each image, where a piece's pixels come from, in half sides from the middle, and never from beyond it."""
    place = (torch.arange(side, device=start.device) + 0.5) / side
    found = start[:, None] + place * length[:, None]
    found = torch.minimum(torch.maximum(found, start[:, None] + 0.5), (start + length)[:, None] - 0.5)
    return found * 2 / side - 1
