"""Tokens to one vector for the head, and what that vector is made of.

As a core has a map to look at, a pool has `weights`: the share of each token in the pooled vector, which says where to
begin when a prediction is traced back to patches.
"""

from abc import abstractmethod
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from vitlab.parts.attention import CrossAttention, Softmax
from vitlab.parts.part import Part, Site

Tokens = Float[Tensor, "B N D"]
Pooled = Float[Tensor, "B D"]
Weights = Float[Tensor, "B N"]


class Pool(Part, slot=True):
    """How the head's one vector is made of the tokens."""

    needs_cls: ClassVar[bool] = False
    needs_distillation: ClassVar[bool] = False
    vectors: ClassVar[int] = 1  # of the model's width that it puts side by side for the head

    @abstractmethod
    def build(self, site: Site) -> "PoolModule": ...


class PoolModule(nn.Module):
    """The contract of every pool."""

    @abstractmethod
    def forward(self, x: Tokens) -> Pooled: ...

    @abstractmethod
    def weights(self, x: Tokens) -> Weights:
        """Shares of one; `weights(x) @ x` is the pooled vector wherever the pool only mixes tokens."""


class ClassToken(Pool):
    """The class token's row (ViT, eq. 4)."""

    kind: Literal["cls"] = "cls"
    needs_cls: ClassVar[bool] = True

    def build(self, site: Site) -> PoolModule:
        return _ClassToken()


class _ClassToken(PoolModule):
    def forward(self, x: Tokens) -> Pooled:
        return x[:, 0]

    def weights(self, x: Tokens) -> Weights:
        shares = x.new_zeros(x.shape[:2])
        shares[:, 0] = 1
        return shares


class ClassAndDistillation(Pool):
    """The rows of the class and the distillation token side by side, for a head that keeps them apart (DeiT)."""

    kind: Literal["cls_distillation"] = "cls_distillation"
    needs_cls: ClassVar[bool] = True
    needs_distillation: ClassVar[bool] = True
    vectors: ClassVar[int] = 2

    def build(self, site: Site) -> PoolModule:
        return _FirstTwo()


class _FirstTwo(PoolModule):
    def forward(self, x: Tokens) -> Float[Tensor, "B 2*D"]:
        return x[:, :2].flatten(1)

    def weights(self, x: Tokens) -> Weights:
        shares = x.new_zeros(x.shape[:2])
        shares[:, :2] = 0.5
        return shares


class _OverPatches(PoolModule):
    """A pool over the patches alone; prefix tokens are left out."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.prefix = site.prefix

    def weights(self, x: Tokens) -> Weights:
        return functional.pad(self.of_patches(x[:, self.prefix :]), (self.prefix, 0))

    @abstractmethod
    def of_patches(self, patches: Tokens) -> Weights: ...


class Mean(Pool):
    """The mean of the patches."""

    kind: Literal["mean"] = "mean"

    def build(self, site: Site) -> PoolModule:
        return _Mean(site)


class _Mean(_OverPatches):
    def forward(self, x: Tokens) -> Pooled:
        return x[:, self.prefix :].mean(dim=1)

    def of_patches(self, patches: Tokens) -> Weights:
        return patches.new_full(patches.shape[:2], 1 / patches.shape[1])


class ClassAndMean(Pool):
    """The class token's row beside the mean of the patches: what DINOv2's linear classifiers read."""

    kind: Literal["cls_mean"] = "cls_mean"
    needs_cls: ClassVar[bool] = True
    vectors: ClassVar[int] = 2

    def build(self, site: Site) -> PoolModule:
        return _ClassAndMean(site)


class _ClassAndMean(_OverPatches):
    def forward(self, x: Tokens) -> Float[Tensor, "B 2*D"]:
        return torch.cat([x[:, 0], x[:, self.prefix :].mean(dim=1)], dim=1)

    def weights(self, x: Tokens) -> Weights:
        """Half the class token, half the patches."""
        shares = super().weights(x)
        shares[:, 0] = 0.5
        return shares

    def of_patches(self, patches: Tokens) -> Weights:
        return patches.new_full(patches.shape[:2], 0.5 / patches.shape[1])


class Max(Pool):
    """The largest value of each channel over the patches."""

    kind: Literal["max"] = "max"

    def build(self, site: Site) -> PoolModule:
        return _Max(site)


class _Max(_OverPatches):
    def forward(self, x: Tokens) -> Pooled:
        return x[:, self.prefix :].amax(dim=1)

    def of_patches(self, patches: Tokens) -> Weights:
        """The share of the channels in which a patch is the largest."""
        largest = functional.one_hot(patches.argmax(dim=1), patches.shape[1])  # B D L
        return largest.to(patches.dtype).mean(dim=1)


class Sequence(Pool):
    """A learned weighting of the patches: softmax(x w)^T x (Hassani et al. 2021, Compact Transformers, eq. 3-5)."""

    kind: Literal["sequence"] = "sequence"

    def build(self, site: Site) -> PoolModule:
        return _Sequence(site)


class _Sequence(_OverPatches):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.weigh = nn.Linear(site.width, 1)

    def forward(self, x: Tokens) -> Pooled:
        patches = x[:, self.prefix :]
        return (self.of_patches(patches)[:, None] @ patches).squeeze(1)

    def of_patches(self, patches: Tokens) -> Weights:
        return self.weigh(patches).squeeze(2).softmax(dim=1)


class Attend(Pool):
    """A learned query looks at the patches (multi-head attention pooling; Zhai et al. 2022)."""

    kind: Literal["attend"] = "attend"
    heads: int = Field(default=4, ge=1)

    def build(self, site: Site) -> PoolModule:
        return _Attend(site, self.heads)


class _Attend(_OverPatches):
    def __init__(self, site: Site, heads: int) -> None:
        super().__init__(site)
        self.query = nn.Embedding(1, site.width)
        self.attention = CrossAttention(site, heads, Softmax())

    def forward(self, x: Tokens) -> Pooled:
        return self.attention(self._query(x), x[:, self.prefix :]).squeeze(1)

    def of_patches(self, patches: Tokens) -> Weights:
        """The mean of the heads' maps."""
        return self.attention.map(self._query(patches), patches).mean(dim=1).squeeze(1)

    def _query(self, x: Tokens) -> Float[Tensor, "B 1 D"]:
        return self.query.weight.to(x.dtype).expand(len(x), -1, -1)
