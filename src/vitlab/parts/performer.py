"""Attention by random features: linear in the number of tokens (Choromanski et al. 2021, Performer / FAVOR+)."""

from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from vitlab.parts.attention import Core, CoreModule, Heads, KeyHeads, Map
from vitlab.parts.part import Site


class Performer(Core):
    """exp(q.k) estimated by phi(q).phi(k) with positive orthogonal random features.

    phi(x) = exp(W x - |x|^2 / 2) / sqrt(m) for x scaled by E^(-1/4); rows of W orthogonal, lengths Gaussian (eq. 5-7).
    The output is phi(q) (phi(k)^T v) / (phi(q) sum phi(k)): both the sum over keys and the products are linear in N.
    """

    kind: Literal["performer"] = "performer"
    takes_bias: ClassVar[bool] = False
    features: int = Field(default=64, ge=1)

    def build(self, heads: int, head_width: int, site: Site) -> CoreModule:
        return _Performer(self.features, head_width)


class _Performer(CoreModule):
    directions: Tensor

    def __init__(self, features: int, head_width: int) -> None:
        super().__init__()
        # Persistent: another draw of W is another model.
        self.register_buffer("directions", orthogonal_directions(features, head_width))

    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads:
        seen, shown = self._queries(q), self._keys(k)
        total = seen @ shown.sum(dim=2, keepdim=True).transpose(2, 3)
        return seen @ (shown.transpose(2, 3) @ v) / total

    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map:
        estimate = self._queries(q) @ self._keys(k).transpose(2, 3)
        return estimate / estimate.sum(dim=3, keepdim=True)

    # The largest exponent is taken off before exp: for a query its own, for keys one a head. Both cancel in the ratio.

    def _queries(self, q: Heads) -> Tensor:
        exponent = self._exponent(q)
        return (exponent - exponent.amax(dim=3, keepdim=True).detach()).exp() + 1e-6

    def _keys(self, k: KeyHeads) -> Tensor:
        exponent = self._exponent(k)
        return (exponent - exponent.amax(dim=(2, 3), keepdim=True).detach()).exp() + 1e-6

    def _exponent(self, x: Tensor) -> Tensor:
        x = x * x.shape[3] ** -0.25
        return x @ self.directions.to(x.dtype).T - x.square().sum(dim=3, keepdim=True) / 2


def orthogonal_directions(features: int, width: int) -> Float[Tensor, "features width"]:
    """Rows orthogonal in blocks of `width`, each as long as a Gaussian vector would be."""
    blocks = [_rotation(width) for _ in range(-(-features // width))]
    lengths = torch.randn(features, width).norm(dim=1, keepdim=True)
    return torch.cat(blocks)[:features] * lengths


def _rotation(width: int) -> Tensor:
    """A random orthogonal matrix, each as likely as any other.

    QR leaves each column's sign open, and LAPACK chooses it by the diagonal: directions would lean to one side, and the
    estimate of softmax stay wrong however many there are. The diagonal of R takes that choice back (Mezzadri 2007).
    """
    q, r = torch.linalg.qr(torch.randn(width, width))
    return (q * r.diagonal().sign()).T
