"""Where tokens stand, told to attention rather than to the tokens: rotary phases and relative bias.

Called on queries and keys before the core: (q, k, grid) -> (q, k, bias). Prefix tokens have no place on the grid, so
rotary leaves them unturned and the bias to and from them is zero.
"""

from abc import abstractmethod
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts.part import Part, Site
from vitlab.parts.position import resample

Pair = tuple[int, int]
Spread = Float[Tensor, "H S S"]  # S: tokens, or the places of a window
Turned = tuple[Float[Tensor, "B H N E"], Float[Tensor, "B H N E"], Spread | None]


class Relative(Part, slot=True):
    """How attention learns where its query and key stand."""

    needs_bias: ClassVar[bool] = False

    @abstractmethod
    def build(self, heads: int, head_width: int, site: Site, window: Pair | None) -> nn.Module:
        """The module for a place; `window` is what a bias spans where the core looks through windows."""


class Rotary(Relative):
    """2-D rotary phases (Su et al. 2021; Heo et al. 2024): queries and keys turned by angles of their row and column.

    Channels pair up; of the E/2 pairs the first half turns by row * w_i, the second by column * w_i, with
    w_i = base^(-i / (E / 4)). The product q.k then depends on the offset between the patches alone.
    """

    kind: Literal["rotary"] = "rotary"
    base: float = Field(default=100.0, gt=0)

    def build(self, heads: int, head_width: int, site: Site, window: Pair | None) -> nn.Module:
        if head_width % 4:
            raise UserError(f"rotary positions want heads of a width that 4 divides, not {head_width}")
        return _Rotary(head_width, self.base, site)


class _Rotary(nn.Module):
    phases: Tensor

    def __init__(self, head_width: int, base: float, site: Site) -> None:
        super().__init__()
        self.head_width, self.base, self.site = head_width, base, site
        self.register_buffer("phases", self.compute(site.grid), persistent=False)

    def compute(self, grid: Pair) -> Float[Tensor, "2 L E"]:
        """Cosines and sines, each repeated for the two channels of a pair."""
        count = self.head_width // 4
        speed = self.base ** (-torch.arange(count).double() / count)
        rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
        angles = torch.cat([axis.reshape(-1, 1) * speed for axis in (rows, columns)], dim=1)
        angles = angles.repeat_interleave(2, dim=1)
        return torch.stack([angles.cos(), angles.sin()]).float()

    def forward(self, q: Float[Tensor, "B H N E"], k: Float[Tensor, "B H N E"], grid: Pair) -> Turned:
        cos, sin = (self.phases if grid == self.site.grid else self.compute(grid).to(self.phases)).to(q.dtype)
        return self._turn(q, cos, sin), self._turn(k, cos, sin), None

    def _turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        prefix, patches = x[:, :, : self.site.prefix], x[:, :, self.site.prefix :]
        across = torch.stack([-patches[..., 1::2], patches[..., ::2]], dim=-1).flatten(-2)
        return torch.cat([prefix, patches * cos + across * sin], dim=2)


class Bias(Relative):
    """A learned number for each head and each offset (row, column) of query and key, added to their score (Swin)."""

    kind: Literal["bias"] = "bias"
    needs_bias: ClassVar[bool] = True

    def build(self, heads: int, head_width: int, site: Site, window: Pair | None) -> nn.Module:
        return _Bias(heads, site, window)


class _Bias(nn.Module):
    offsets: Tensor

    def __init__(self, heads: int, site: Site, window: Pair | None) -> None:
        super().__init__()
        self.window, self.prefix = window, site.prefix
        self.grid = window or site.grid
        self.table = nn.Embedding((2 * self.grid[0] - 1) * (2 * self.grid[1] - 1), heads)
        self.register_buffer("offsets", _offsets(self.grid), persistent=False)

    def forward(self, q: Float[Tensor, "B H N E"], k: Float[Tensor, "B H N E"], grid: Pair) -> Turned:
        offsets, table = self.offsets, self.table.weight
        if self.window is None and grid != self.grid:
            old, new = ((2 * rows - 1, 2 * columns - 1) for rows, columns in (self.grid, grid))
            table, offsets = resample(table, old, new), _offsets(grid).to(offsets.device)
        bias = table[offsets].permute(2, 0, 1).to(q.dtype)
        return q, k, nn.functional.pad(bias, (self.prefix, 0, self.prefix, 0)) if self.prefix else bias


def _offsets(grid: Pair) -> Tensor:
    """For each (query, key): the row of the table of biases that their offset on the grid has."""
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    down, right = (axis.flatten()[:, None] - axis.flatten()[None, :] for axis in (rows, columns))
    return (down + grid[0] - 1) * (2 * grid[1] - 1) + right + grid[1] - 1
