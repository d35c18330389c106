"""One encoder block: attention, then the MLP, each joined to the stream by a residual.

pre-norm (ViT, eq. 2-3)                      post-norm (Vaswani et al. 2017)

x --+-- norm -- attention --+--> x           x --+-- attention --+-- norm --> x
    +-----------------------+                    +---------------+
x --+-- norm -- mlp --------+--> x           x --+-- mlp --------+-- norm --> x
    +-----------------------+                    +---------------+
"""

from abc import abstractmethod
from typing import Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.parts.attention import Attention
from vitlab.parts.mlp import Mlp, TwoLayer
from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Part, Site
from vitlab.parts.residual import Add, Residual

Pair = tuple[int, int]
Tokens = Float[Tensor, "B N D"]


class Block(Part, slot=True):
    """One layer of the encoder."""

    @abstractmethod
    def build(self, site: Site) -> nn.Module:
        """A module from (tokens, grid) to tokens; `site.layer` says which layer it is."""

    @property
    @abstractmethod
    def takes_prefix(self) -> bool:
        """Whether tokens without a place on the grid may pass."""


class _TwoBranches(Block):
    attention: Attention
    mlp: Mlp = TwoLayer()
    norm: Norm = Layer()
    residual: Residual = Add()

    @property
    def takes_prefix(self) -> bool:
        return self.attention.takes_prefix


class PreNorm(_TwoBranches):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    kind: Literal["pre"] = "pre"

    def build(self, site: Site) -> nn.Module:
        return _PreNorm(self, site)


class PostNorm(_TwoBranches):
    """norm(x + attention(x)), then norm(x + mlp(x))."""

    kind: Literal["post"] = "post"

    def build(self, site: Site) -> nn.Module:
        return _PostNorm(self, site)


class _Branches(nn.Module):
    def __init__(self, description: _TwoBranches, site: Site) -> None:
        super().__init__()
        self.norm1 = description.norm.build(site.width)
        self.attention = description.attention.build(site)
        self.residual1 = description.residual.build(site)
        self.norm2 = description.norm.build(site.width)
        self.mlp = description.mlp.build(site)
        self.residual2 = description.residual.build(site)


class _PreNorm(_Branches):
    def forward(self, x: Tokens, grid: Pair) -> Tokens:
        x = self.residual1(x, self.attention(self.norm1(x), grid))
        return self.residual2(x, self.mlp(self.norm2(x)))


class _PostNorm(_Branches):
    def forward(self, x: Tokens, grid: Pair) -> Tokens:
        x = self.norm1(self.residual1(x, self.attention(x, grid)))
        return self.norm2(self.residual2(x, self.mlp(x)))


class Alternate(Block):
    """Blocks by turns: layer i is block i modulo their number (windows and shifted windows, local and global)."""

    kind: Literal["alternate"] = "alternate"
    blocks: tuple[Block, ...] = Field(min_length=1)

    def build(self, site: Site) -> nn.Module:
        return self.blocks[site.layer % len(self.blocks)].build(site)

    @property
    def takes_prefix(self) -> bool:
        return all(block.takes_prefix for block in self.blocks)
