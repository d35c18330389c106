"""Where a token stands, told to the token itself before the first block.

A part makes a *table* of one vector a token for a grid of patches, and a way to combine it with the tokens: `add`, or
`concat` (both side by side, then a linear layer back to the model's width). A model shown another grid than the one it
was built for asks for another table: formulas are evaluated anew, learned tables are resampled as pictures.
What tells attention where tokens stand (rotary phases, relative bias) is in `rotary.py`.
"""

from abc import abstractmethod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vitlab.errors import UserError
from vitlab.parts.part import Part, Site

Pair = tuple[int, int]


class Position(Part, slot=True):
    """How tokens learn where they stand."""

    combine: Literal["add", "concat"] = "add"

    @abstractmethod
    def table(self, site: Site) -> "_Table":
        """The module that makes the table of vectors."""

    def build(self, site: Site) -> nn.Module:
        table = self.table(site)
        return _Concat(table, site.width) if self.combine == "concat" else _Add(table)


class Nowhere(Position):
    """No positions: the model sees a set of patches."""

    kind: Literal["none"] = "none"

    def table(self, site: Site) -> "_Table":
        raise UserError("position 'none' has no table")

    def build(self, site: Site) -> nn.Module:
        return _Ignore()


class Learned(Position):
    """One learned vector a token (ViT); resampled for another grid, prefix tokens as they are.

    `prefix` gives the tokens before the patches a vector too, as ViT and DeiT do.
    """

    kind: Literal["learned"] = "learned"
    prefix: bool = True
    resample: Literal["bicubic", "bilinear", "bicubic_aliased"] = "bicubic"  # aliased: as DINOv2's code does it

    def table(self, site: Site) -> "_Table":
        return _LearnedTable(site, self.prefix, self.resample)


class Sinusoidal(Position):
    """Sines and cosines of the token's place in the sequence (Vaswani et al. 2017, section 3.5).

    PE(n, 2i) = sin(n / 10000^(2i / D)), PE(n, 2i + 1) = cos(n / 10000^(2i / D)), prefix tokens counted.
    """

    kind: Literal["sinusoidal"] = "sinusoidal"

    def table(self, site: Site) -> "_Table":
        return _SinusoidalTable(site)


class SinCos(Position):
    """Sines and cosines of the patch's column and row, half the width each (MAE, MoCo v3); prefix tokens get zeros.

    A half is [sin(c w_i), ..., cos(c w_i), ...] with w_i = 10000^(-i / (D / 4)); columns first, then rows.
    """

    kind: Literal["sincos"] = "sincos"

    def table(self, site: Site) -> "_Table":
        return _SinCosTable(site)


class Factorised(Position):
    """A learned vector for the row plus one for the column: R + C vectors, not R * C; prefix tokens get zeros."""

    kind: Literal["factorised"] = "factorised"

    def table(self, site: Site) -> "_Table":
        return _FactorisedTable(site)


class _Table(nn.Module):
    """A table of position vectors, (tokens, width), for any grid."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site

    @abstractmethod
    def forward(self, grid: Pair) -> Float[Tensor, "N D"]: ...


class _LearnedTable(_Table):
    def __init__(self, site: Site, prefix: bool, mode: str) -> None:
        super().__init__(site)
        self.mode = mode
        self.own_prefix = site.prefix if prefix else 0
        self.vectors = nn.Embedding(self.own_prefix + site.grid[0] * site.grid[1], site.width)

    def forward(self, grid: Pair) -> Float[Tensor, "N D"]:
        table = self.vectors.weight
        if grid != self.site.grid:
            prefix, patches = table[: self.own_prefix], table[self.own_prefix :]
            table = torch.cat([prefix, resample(patches, self.site.grid, grid, self.mode)])
        return _zeros_before(table, self.site.prefix - self.own_prefix)


class _FactorisedTable(_Table):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.rows = nn.Embedding(site.grid[0], site.width)
        self.columns = nn.Embedding(site.grid[1], site.width)

    def forward(self, grid: Pair) -> Float[Tensor, "N D"]:
        rows, columns = (
            table.weight if len(table.weight) == side else resample(table.weight, (len(table.weight), 1), (side, 1))
            for table, side in ((self.rows, grid[0]), (self.columns, grid[1]))
        )
        return _zeros_before((rows[:, None] + columns[None, :]).flatten(0, 1), self.site.prefix)


class _FixedTable(_Table):
    """A table from a formula, kept for the grid of the blueprint and computed for any other."""

    kept: Tensor

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.register_buffer("kept", self.compute(site.grid), persistent=False)

    @abstractmethod
    def compute(self, grid: Pair) -> Float[Tensor, "N D"]: ...

    def forward(self, grid: Pair) -> Float[Tensor, "N D"]:
        return self.kept if grid == self.site.grid else self.compute(grid).to(self.kept)


class _SinusoidalTable(_FixedTable):
    def compute(self, grid: Pair) -> Float[Tensor, "N D"]:
        place = torch.arange(self.site.prefix + grid[0] * grid[1])
        angles = _angles(place, -(-self.site.width // 2))
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, : self.site.width].float()


class _SinCosTable(_FixedTable):
    def __init__(self, site: Site) -> None:
        if site.width % 4:
            raise UserError(f"position 'sincos' wants a width that 4 divides, not {site.width}")
        super().__init__(site)

    def compute(self, grid: Pair) -> Float[Tensor, "N D"]:
        rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
        halves = [_angles(axis.flatten(), self.site.width // 4) for axis in (columns, rows)]
        table = torch.cat([wave for angles in halves for wave in (angles.sin(), angles.cos())], dim=1)
        return _zeros_before(table.float(), self.site.prefix)


class _Add(nn.Module):
    def __init__(self, table: _Table) -> None:
        super().__init__()
        self.table = table

    def forward(self, x: Float[Tensor, "B N D"], grid: Pair) -> Float[Tensor, "B N D"]:
        return x + self.table(grid).to(x.dtype)


class _Concat(_Add):
    """[x; p] W: with W = [W1; W2] this is x W1 + p W2, so the model may keep tokens and places apart."""

    def __init__(self, table: _Table, width: int) -> None:
        super().__init__(table)
        self.merge = nn.Linear(2 * width, width)

    def forward(self, x: Float[Tensor, "B N D"], grid: Pair) -> Float[Tensor, "B N D"]:
        return self.merge(torch.cat([x, self.table(grid).to(x.dtype).expand_as(x)], dim=2))


class _Ignore(nn.Module):
    def forward(self, x: Float[Tensor, "B N D"], grid: Pair) -> Float[Tensor, "B N D"]:
        return x


def resample(
    table: Float[Tensor, "tokens D"], old: Pair, new: Pair, mode: str = "bicubic"
) -> Float[Tensor, "resampled D"]:
    """A table of one vector a patch, resampled from one grid to another as a picture of D channels.

    Antialiased, so that a coarser grid averages what it leaves out; "bicubic_aliased" is not.
    """
    picture = table.float().reshape(1, *old, -1).permute(0, 3, 1, 2)
    kernel, _, aliased = mode.partition("_")
    resized = functional.interpolate(picture, size=new, mode=kernel, antialias=not aliased, align_corners=False)
    return resized.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1).to(table.dtype)


def _angles(place: Tensor, count: int) -> Tensor:
    """place * 10000^(-i / count) for i below count, in float64: the last bits of sines of large angles matter."""
    return place.double()[:, None] * 10000.0 ** (-torch.arange(count, device=place.device).double() / count)


def _zeros_before(table: Tensor, count: int) -> Tensor:
    return torch.cat([table.new_zeros(count, table.shape[1]), table]) if count else table
