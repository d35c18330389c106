"""Image to tokens by convolutions that pool as they go: what a model of small images learns fastest from.

    2x2 filters -- gelu -- [ conv 3x3 - max pool - norm - gelu ( - conv 3x3 - norm - gelu) ] x stages --> tokens

Convolutions of stride 1 see every pixel before the grid is halved, which strided ones do not. What they leave to the
blocks is what lies further apart: with one convolution a stage and two stages a token has seen 11 x 11 pixels.
The filters are in `filters.py`.
"""

from itertools import pairwise
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from vitlab.errors import UserError
from vitlab.parts.filters import SIDE, Filters, Learned
from vitlab.parts.patch import Pair, Patch, Tokens, flatten

Width = Annotated[int, Field(ge=1, le=65_536)]
_POOL = 2


class Tower(Patch):
    """Filters of 2x2 pixels, a stage for each of `widths` and a last one of the model's width."""

    kind: Literal["tower"] = "tower"
    filters: Filters = Learned()
    widths: tuple[Width, ...] = (64,)
    convolutions: int = Field(default=1, ge=1, le=16, description="in each stage; the first of them pools")

    def grid(self, image: Pair) -> Pair:
        rows, columns = ((side - SIDE + 1) // _POOL ** (len(self.widths) + 1) for side in image)
        if min(rows, columns) < 1:
            smallest = _POOL ** (len(self.widths) + 1) + SIDE - 1
            raise UserError(
                f"an image of {image[0]}x{image[1]} is too small for {len(self.widths) + 1} stages that halve it; "
                f"take one of at least {smallest}x{smallest}"
            )
        return rows, columns

    def build(self, channels: int, width: int) -> nn.Module:
        return _Tower(self.filters.build(channels), [*self.widths, width], self.convolutions)


class _Tower(nn.Module):
    def __init__(self, filters: nn.Conv2d, widths: list[int], convolutions: int) -> None:
        super().__init__()
        self.filters = filters
        layers = []
        for before, after in pairwise([filters.out_channels, *widths]):
            layers.append(_Layer(before, after, pool=True))
            layers += [_Layer(after, after, pool=False) for _ in range(convolutions - 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Tokens:
        # Channels beside each other in memory: convolutions are twice as fast so on a CPU, and their maps are tokens.
        maps = functional.gelu(self.filters(images.contiguous(memory_format=torch.channels_last)))
        return flatten(self.layers(maps))


class _Layer(nn.Module):
    def __init__(self, before: int, after: int, pool: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.pool = nn.MaxPool2d(_POOL) if pool else nn.Identity()
        self.norm = nn.BatchNorm2d(after)

    def forward(self, maps: Float[Tensor, "B c x y"]) -> Tensor:
        return functional.gelu(self.norm(self.pool(self.convolution(maps))))
