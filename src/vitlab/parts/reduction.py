"""Attention to a smaller picture of the keys: the grid is shrunk before keys and values are made (PVT)."""

from dataclasses import replace
from typing import Literal, Self

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts.attention import Attention, head_width, merge_heads, split_heads
from vitlab.parts.dropout import Dropout
from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Site


class Reduced(Attention):
    """Keys and values from the patches under a `ratio` x `ratio` strided convolution and a norm (PVT, eq. 1-3).

    There are 1 / ratio^2 as many keys as patches; prefix tokens are kept whole.
    """

    kind: Literal["reduced"] = "reduced"
    ratio: int = Field(default=2, ge=1)
    norm: Norm = Layer()

    @model_validator(mode="after")
    def _core_takes_fewer_keys(self) -> Self:
        if not self.core.takes_other_keys:
            raise UserError(f"a core of kind {self.core.model_dump()['kind']!r} wants as many keys as queries")
        return self

    def build(self, site: Site) -> nn.Module:
        if site.grid[0] < self.ratio or site.grid[1] < self.ratio:
            raise UserError(f"a reduction of {self.ratio} leaves nothing of a grid of {site.grid[0]}x{site.grid[1]}")
        return _Reduced(self, site)


class _Reduced(nn.Module):
    def __init__(self, description: Reduced, site: Site) -> None:
        super().__init__()
        self.heads, self.prefix = description.heads, site.prefix
        each = head_width(site.width, self.heads)
        self.q = nn.Linear(site.width, site.width)
        self.reduce = nn.Conv2d(site.width, site.width, description.ratio, stride=description.ratio)
        self.norm = description.norm.build(site.width)
        self.kv = nn.Linear(site.width, 2 * site.width)
        small = replace(site, grid=(site.grid[0] // description.ratio, site.grid[1] // description.ratio))
        self.core = description.core.build(self.heads, each, small)
        self.proj = nn.Linear(site.width, site.width)
        self.dropout = Dropout(site.dropout)

    def forward(self, x: Float[Tensor, "B N D"], grid: tuple[int, int]) -> Float[Tensor, "B N D"]:
        picture = x[:, self.prefix :].transpose(1, 2).unflatten(2, grid)
        small = self.reduce(picture).flatten(2).transpose(1, 2)
        keys = self.norm(torch.cat([x[:, : self.prefix], small], dim=1))
        k, v = self.kv(keys).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.dropout(self.proj(merge_heads(self.core(split_heads(self.q(x), self.heads), k, v))))
