"""Attention inside windows of the grid, and inside windows shifted by half of one (Swin).

The grid is rolled by the shift and cut into windows; a token looks at the tokens of its window. After the roll a window
at the border holds tokens from opposite sides of the image: a mask keeps them apart. A grid that the window does not
divide is padded, and nobody looks at the padding.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from vitlab.errors import UserError
from vitlab.parts import kernels
from vitlab.parts.attention import Core, CoreModule, Heads, KeyHeads, Map
from vitlab.parts.part import Site


class Window(Core):
    """Softmax attention within `size` x `size` windows, the windows shifted by `shift` down and right."""

    kind: Literal["window"] = "window"
    takes_prefix: ClassVar[bool] = False
    takes_other_keys: ClassVar[bool] = False
    size: int = Field(default=7, ge=1)
    shift: int = Field(default=0, ge=0)

    def build(self, heads: int, head_width: int, site: Site) -> CoreModule:
        if not self.shift < self.size:
            raise UserError(f"a shift of {self.shift} does not fit windows of {self.size}; take less than {self.size}")
        return _Window(self.size, self.shift, site)

    @property
    def window(self) -> tuple[int, int]:
        return self.size, self.size


class _Window(CoreModule):
    mask: Tensor | None

    def __init__(self, size: int, shift: int, site: Site) -> None:
        super().__init__()
        self.size, self.shift, self.dropout, self.grid = size, shift, site.dropout, site.grid
        self.pad = tuple(-side % size for side in site.grid)
        region = self._regions()
        together = self._cut(region[None, None, :, :, None]).squeeze(-1)[0, :, 0]  # windows, tokens of a window
        apart = together[:, :, None] != together[:, None, :]
        mask = torch.zeros(apart.shape).masked_fill(apart, -torch.inf)[:, None]
        self.register_buffer("mask", mask if shift or any(self.pad) else None, persistent=False)

    def _regions(self) -> Tensor:
        """A label for each place: equal labels in a window may look at each other; padding has a label of its own."""
        rows, columns = ((torch.arange(side) - self.shift).div(self.size, rounding_mode="floor") for side in self.grid)
        labels = rows[:, None] * (len(columns) + 2) + columns[None, :]
        return functional.pad(labels, (0, self.pad[1], 0, self.pad[0]), value=1 << 30)

    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads:
        q, k, v = (self._cut(functional.pad(self._lay(x), (0, 0, 0, self.pad[1], 0, self.pad[0]))) for x in (q, k, v))
        mask = None if self.mask is None else self.mask.to(q.dtype)
        if bias is not None:
            mask = bias if mask is None else bias + mask
        return self._join(kernels.attend(q, k, v, mask, self.dropout if self.training else 0.0))

    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map:
        """The whole N x N map, zero outside a token's window."""
        rows, columns = ((torch.arange(side, device=q.device) - self.shift) for side in self.grid)
        place = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).flatten(1)  # (2, N)
        window = place.div(self.size, rounding_mode="floor")
        apart = (window[:, :, None] != window[:, None, :]).any(0)
        mask = torch.zeros(apart.shape, dtype=q.dtype, device=q.device).masked_fill(apart, -torch.inf)
        if bias is not None:
            row, column = place % self.size
            inside = row * self.size + column
            mask = mask + bias[:, inside[:, None], inside[None, :]]
        return kernels.attention_map(q, k, mask)

    def _lay(self, x: Heads) -> Tensor:
        if x.shape[2] != self.grid[0] * self.grid[1]:
            raise UserError(
                f"windows are laid for a grid of {self.grid[0]}x{self.grid[1]} patches, not for {x.shape[2]} tokens; "
                "create the model with the size of these images"
            )
        return x.unflatten(2, self.grid)

    def _cut(self, x: Tensor) -> Tensor:
        """(B, H, rows, columns, E) to (B, windows, H, size * size, E)."""
        x = x.roll((-self.shift, -self.shift), (2, 3)) if self.shift else x
        x = x.unflatten(3, (-1, self.size)).unflatten(2, (-1, self.size))  # B H r s c s E
        return x.permute(0, 2, 4, 1, 3, 5, 6).flatten(4, 5).flatten(1, 2)

    def _join(self, x: Tensor) -> Heads:
        """The inverse of `_cut`, without the padding, tokens in a row again."""
        rows, columns = (-(-side // self.size) for side in self.grid)
        x = x.unflatten(3, (self.size, self.size)).unflatten(1, (rows, columns))  # B r c H s s E
        x = x.permute(0, 3, 1, 4, 2, 5, 6).flatten(4, 5).flatten(2, 3)
        x = x.roll((self.shift, self.shift), (2, 3)) if self.shift else x
        return x[:, :, : self.grid[0], : self.grid[1]].flatten(2, 3)
