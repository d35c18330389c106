"""Attention over a fixed number of mixed keys: linear in the number of tokens (Wang et al. 2020, Linformer)."""

from typing import ClassVar, Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts import kernels
from vitlab.parts.attention import Core, CoreModule, Heads, KeyHeads, Map
from vitlab.parts.part import Site


class Linformer(Core):
    """softmax(q (E k)^T / sqrt(width)) (F v): E and F mix the N keys and values into `rank` of each (eq. 7)."""

    kind: Literal["linformer"] = "linformer"
    takes_bias: ClassVar[bool] = False
    rank: int = Field(default=64, ge=1)

    def build(self, heads: int, head_width: int, site: Site) -> CoreModule:
        return _Linformer(self.rank, site)


class _Linformer(CoreModule):
    def __init__(self, rank: int, site: Site) -> None:
        super().__init__()
        self.dropout, self.length = site.dropout, site.length
        self.mix_keys = nn.Linear(site.length, rank, bias=False)
        self.mix_values = nn.Linear(site.length, rank, bias=False)

    def forward(self, q: Heads, k: KeyHeads, v: KeyHeads, bias: Tensor | None = None) -> Heads:
        self._check(k)
        mixed_v = self.mix_values(v.transpose(2, 3)).transpose(2, 3)
        return kernels.attend(q, self._mixed_keys(k), mixed_v, None, self.dropout if self.training else 0.0)

    def map(self, q: Heads, k: KeyHeads, bias: Tensor | None = None) -> Map:
        """The map on the tokens themselves: weights on the mixed values times what they were mixed from."""
        self._check(k)
        return kernels.attention_map(q, self._mixed_keys(k)) @ self.mix_values.weight.to(q.dtype)

    def _mixed_keys(self, k: KeyHeads) -> Float[Tensor, "B H rank E"]:
        return self.mix_keys(k.transpose(2, 3)).transpose(2, 3)

    def _check(self, k: KeyHeads) -> None:
        if k.shape[2] != self.length:
            raise UserError(
                f"a Linformer core mixes {self.length} tokens, not {k.shape[2]}; create the model with this image size"
            )
