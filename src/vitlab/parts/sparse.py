"""Local plus global attention: each patch looks at its neighbourhood and at the global tokens, which look at all."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from vitlab.errors import UserError
from vitlab.parts import kernels
from vitlab.parts.attention import Core, CoreModule, Heads, KeyHeads, Map
from vitlab.parts.part import Site


class Local(Core):
    """A patch looks at the patches within `radius` rows and columns and at the global tokens (Longformer, in 2-D).

    Global are the prefix tokens and, where more are wanted, the first `extra_global` patches. The cost grows with
    N * (2 radius + 1)^2, not with N^2.
    """

    kind: Literal["local"] = "local"
    takes_other_keys: ClassVar[bool] = False
    radius: int = Field(default=3, ge=1)
    extra_global: int = Field(default=0, ge=0)

    def build(self, heads: int, head_width: int, site: Site) -> CoreModule:
        return _Local(self.radius, site.prefix + self.extra_global, site)


class _Local(CoreModule):
    neighbours: Tensor
    outside: Tensor

    def __init__(self, radius: int, global_tokens: int, site: Site) -> None:
        super().__init__()
        self.global_tokens, self.dropout, self.length = global_tokens, site.dropout, site.length
        neighbours, outside = _neighbourhoods(site, radius, global_tokens)
        self.register_buffer("neighbours", neighbours, persistent=False)
        self.register_buffer("outside", outside, persistent=False)

    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads:
        self._check(k)
        rate = self.dropout if self.training else 0.0
        first, neighbours, outside = self.global_tokens, self.neighbours, self.outside
        mask = torch.zeros(outside.shape, dtype=q.dtype, device=q.device).masked_fill(outside, -torch.inf)[:, None]
        if bias is not None:
            mask = mask + bias[:, first:].gather(2, neighbours.expand(len(bias), -1, -1))[:, :, None]
        near = kernels.attend(q[:, :, first:, None], k[:, :, neighbours], v[:, :, neighbours], mask, rate).squeeze(3)
        if not first:
            return near
        far = kernels.attend(q[:, :, :first], k, v, None if bias is None else bias[:, :first], rate)
        return torch.cat([far, near], dim=2)

    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map:
        self._check(k)
        first, neighbours, outside = self.global_tokens, self.neighbours, self.outside
        looks = torch.zeros(self.length, self.length, device=q.device)
        looks[:first] = 1
        looks[first:].scatter_add_(1, neighbours, (~outside).float())
        mask = torch.zeros_like(looks, dtype=q.dtype).masked_fill(looks == 0, -torch.inf)
        return kernels.attention_map(q, k, mask if bias is None else mask + bias)

    def _check(self, k: KeyHeads) -> None:
        if k.shape[2] != self.length:
            raise UserError(
                f"neighbourhoods are laid for {self.length} tokens, not {k.shape[2]}; "
                "create the model with the size of these images"
            )


def _neighbourhoods(site: Site, radius: int, global_tokens: int) -> tuple[Tensor, Tensor]:
    """For each token that is not global: the keys it looks at, and which of those entries lie outside the grid.

    Global tokens come first in each row; a neighbour that is itself global counts once, as a global token.
    """
    rows, columns = site.grid
    reach = torch.arange(-radius, radius + 1)
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    row = row[:, :, None, None] + reach[:, None]
    column = column[:, :, None, None] + reach[None, :]
    beyond = ((row < 0) | (row >= rows) | (column < 0) | (column >= columns)).flatten(2).flatten(0, 1)
    token = (site.prefix + row.clamp(0, rows - 1) * columns + column.clamp(0, columns - 1)).flatten(2).flatten(0, 1)
    beyond |= token < global_tokens
    skip = global_tokens - site.prefix
    token, beyond = token[skip:], beyond[skip:]
    first = torch.arange(global_tokens).expand(len(token), -1)
    return torch.cat([first, token], 1), torch.cat([torch.zeros_like(first, dtype=torch.bool), beyond], 1)
