"""Tokens looking at tokens: projections around a *core*.

The projections make queries, keys and values; the core mixes values. Every core, whatever its cost, is two methods:

    core(q, k, v, bias)    the mixed values, by the fastest code for this machine
    core.map(q, k, bias)   who looked at whom, (B, H, N, M); `core.map(q, k) @ v` equals `core(q, k, v)` in evaluation

so that a hook on the core sees all there is to see without a second path through the model.
"""

from abc import abstractmethod
from typing import ClassVar, Literal, Self

from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts import kernels
from vitlab.parts.dropout import Dropout
from vitlab.parts.native.attention import parted
from vitlab.parts.part import Part, Site
from vitlab.parts.rotary import Relative

Heads = Float[Tensor, "B H N E"]
KeyHeads = Float[Tensor, "B H M E"]
Map = Float[Tensor, "B H N M"]


class Core(Part, slot=True):
    """How values are mixed, given queries and keys."""

    takes_bias: ClassVar[bool] = True
    takes_prefix: ClassVar[bool] = True
    takes_other_keys: ClassVar[bool] = True  # than one for each query: fewer, or those of another sequence

    @abstractmethod
    def build(self, heads: int, head_width: int, site: Site) -> "CoreModule": ...

    @property
    def window(self) -> tuple[int, int] | None:
        """The rows and columns that a relative bias spans, where they are not the whole grid."""
        return None


class CoreModule(nn.Module):
    """The contract of every core."""

    @abstractmethod
    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads: ...

    @abstractmethod
    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map: ...


class Softmax(Core):
    """softmax(q k^T / sqrt(E) + bias) v, with dropout on the map while training (Vaswani et al. 2017, eq. 1)."""

    kind: Literal["softmax"] = "softmax"

    def build(self, heads: int, head_width: int, site: Site) -> CoreModule:
        return _Softmax(site.dropout)


class _Softmax(CoreModule):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout

    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads:
        return kernels.attend(q, k, v, bias, self.dropout if self.training else 0.0)

    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map:
        return kernels.attention_map(q, k, bias)


class Attention(Part, slot=True):
    """Projections around a core."""

    heads: int = Field(ge=1)
    core: Core = Softmax()

    @property
    def takes_prefix(self) -> bool:
        """Whether tokens without a place on the grid may take part."""
        return self.core.takes_prefix

    @abstractmethod
    def build(self, site: Site) -> nn.Module:
        """A module from ((B, N, D), grid) to (B, N, D)."""


def head_width(width: int, heads: int) -> int:
    """The width of a head, or a sentence with the numbers of heads that would do."""
    if width % heads:
        fitting = [count for count in range(1, min(width, 4 * heads) + 1) if width % count == 0]
        raise UserError(
            f"{heads} heads do not divide a width of {width}; take {', '.join(map(str, fitting))} heads "
            f"or a width of {width // heads * heads or heads} or {(width // heads + 1) * heads}"
        )
    return width // heads


def split_heads(x: Float[Tensor, "B N F"], heads: int) -> Heads:
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge_heads(x: Heads) -> Float[Tensor, "B N F"]:
    return x.transpose(-3, -2).flatten(-2)


class SelfAttention(Attention):
    """One fused projection to queries, keys and values; a core; one projection back (ViT, eq. 5-8 of appendix A).

    `relative` tells queries and keys where they stand (rotary phases, relative bias).
    """

    kind: Literal["self"] = "self"
    relative: Relative | None = None
    qkv_bias: bool = True

    @model_validator(mode="after")
    def _bias_has_a_taker(self) -> Self:
        if self.relative is not None and self.relative.needs_bias and not self.core.takes_bias:
            raise UserError(f"a core of kind {self.core.model_dump()['kind']!r} cannot take a relative bias")
        return self

    def build(self, site: Site) -> nn.Module:
        return _SelfAttention(self, site)


class _SelfAttention(nn.Module):
    def __init__(self, description: SelfAttention, site: Site) -> None:
        super().__init__()
        heads = description.heads
        each = head_width(site.width, heads)
        self.heads = heads
        self.qkv = nn.Linear(site.width, 3 * site.width, bias=description.qkv_bias)
        self.core = description.core.build(heads, each, site)
        relative = description.relative
        self.relative = relative.build(heads, each, site, description.core.window) if relative else None
        self.proj = nn.Linear(site.width, site.width)
        self.dropout = Dropout(site.dropout)

    def forward(self, x: Float[Tensor, "B N D"], grid: tuple[int, int]) -> Float[Tensor, "B N D"]:
        q, k, v = parted(self.qkv(x), self.heads)
        bias = None
        if self.relative is not None:
            q, k, bias = self.relative(q, k, grid)
        return self.dropout(self.proj(merge_heads(self.core(q, k, v, bias))))


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another: what pools, decoders and pairs of towers use."""

    def __init__(self, site: Site, heads: int, core: Core) -> None:
        super().__init__()
        each = head_width(site.width, heads)
        self.heads = heads
        self.q = nn.Linear(site.width, site.width)
        self.kv = nn.Linear(site.width, 2 * site.width)
        self.core = core.build(heads, each, site)
        self.proj = nn.Linear(site.width, site.width)
        self.dropout = Dropout(site.dropout)

    def forward(self, x: Float[Tensor, "B N D"], context: Float[Tensor, "B M D"]) -> Float[Tensor, "B N D"]:
        return self.dropout(self.proj(merge_heads(self.core(*self._project(x, context)))))

    def map(self, x: Float[Tensor, "B N D"], context: Float[Tensor, "B M D"]) -> Map:
        """Who of one sequence looks at whom of the other."""
        q, k, _ = self._project(x, context)
        return self.core.map(q, k)

    def _project(self, x: Tensor, context: Tensor) -> tuple[Heads, KeyHeads, KeyHeads]:
        k, v = self.kv(context).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return split_heads(self.q(x), self.heads), k, v
