"""Heads that begin by looking at one neighbour each, so that attention starts as a convolution and learns to be more.

    score + max(-strength |p_key - p_query - d_h|^2, -floor) + learned_h(p_key - p_query)

Heads that look at fixed offsets d_h are a convolution (Cordonnier et al. 2020, On the Relationship between
Self-Attention and Convolutional Layers), and d'Ascoli et al. 2021 (ConViT) begin there. A model trained for minutes
has no time to find out that neighbours belong together; what it gains is in docs/log.md. The floor keeps every place
within reach.
"""

from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.parts.part import Site
from vitlab.parts.rotary import Bias, Pair, Relative, Turned

# By turns: beside, across the corner, at the place itself. Rows down, columns to the right.
_NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1), (-1, 1), (1, -1), (0, 0))


class Neighbours(Relative):
    """A relative bias on top of a fixed one that draws head h to neighbour h modulo nine."""

    kind: Literal["neighbours"] = "neighbours"
    needs_bias: ClassVar[bool] = True
    strength: float = Field(default=1.0, ge=0, le=100)
    floor: float = Field(default=6.0, ge=0, le=100, description="the most that the fixed bias takes from a score")

    def build(self, heads: int, head_width: int, site: Site, window: Pair | None) -> nn.Module:
        return _Neighbours(self, Bias().build(heads, head_width, site, window), heads, site, window)


class _Neighbours(nn.Module):
    pull: Tensor

    def __init__(
        self, description: Neighbours, learned: nn.Module, heads: int, site: Site, window: Pair | None
    ) -> None:
        super().__init__()
        self.strength, self.floor, self.heads, self.prefix = description.strength, description.floor, heads, site.prefix
        self.window, self.grid = window, window or site.grid
        self.learned = learned
        self.register_buffer("pull", self.compute(self.grid), persistent=False)

    def compute(self, grid: Pair) -> Float[Tensor, "H S S"]:
        """What the fixed bias says of each query and key."""
        rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
        down, right = (axis.flatten()[None, :] - axis.flatten()[:, None] for axis in (rows, columns))
        looked_at = (_NEIGHBOURS[head % len(_NEIGHBOURS)] for head in range(self.heads))
        away = torch.stack([(down - row) ** 2 + (right - column) ** 2 for row, column in looked_at])
        pull = (-self.strength * away).clamp(min=-self.floor)
        return nn.functional.pad(pull, (self.prefix, 0, self.prefix, 0)) if self.prefix else pull

    def forward(self, q: Float[Tensor, "B H N E"], k: Float[Tensor, "B H N E"], grid: Pair) -> Turned:
        q, k, bias = self.learned(q, k, grid)
        there = self.window is not None or grid == self.grid
        pull = self.pull if there else self.compute(grid).to(self.pull.device)
        return q, k, bias + pull.to(bias.dtype)
