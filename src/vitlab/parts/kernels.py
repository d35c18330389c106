"""Which code computes softmax attention: the one place that decides, by measurement.

`plain` is two matrix products with a softmax between; `fused` is torch's scaled_dot_product_attention, which never
holds the whole map; `native` is ours in C++, for short sequences in bfloat16 on a CPU, where a run has taken it up and
plain attention for whatever it cannot take. All give softmax(q k^T / sqrt(E) + bias) v. Which is faster depends on
device, dtype, length, so a run measures once (`measure`), writes the winner into its plan, and replays it (`adopt`).
Without a measurement the rule is the one that held on the machines we measured: `benchmarks/attention.py` prints the
table.
"""

import time
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vitlab.parts.dropout import dropout as _dropout
from vitlab.parts.native import attention as _native

Queries = Float[Tensor, "*lead N E"]
Keys = Float[Tensor, "*lead M E"]
Map = Float[Tensor, "*lead N M"]

PLAIN_UP_TO = 1024  # tokens: on a CPU the plain kernel wins in bfloat16, the fused one in float32
_chosen: dict[str, str] = {}


def attention_map(q: Queries, k: Keys, bias: Tensor | None = None) -> Map:
    """softmax(q k^T / sqrt(E) + bias): who looks at whom (Vaswani et al. 2017, eq. 1)."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    return (scores if bias is None else scores + bias).softmax(dim=-1)


def plain(q: Queries, k: Keys, v: Keys, bias: Tensor | None, dropout: float) -> Queries:
    """Two matrix products with a softmax between them."""
    weights = attention_map(q, k, bias).to(v.dtype)
    return _dropout(weights, dropout) @ v


def fused(q: Queries, k: Keys, v: Keys, bias: Tensor | None, dropout: float) -> Queries:
    """One call that never holds the whole map."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)


def native(q: Queries, k: Keys, v: Keys, bias: Tensor | None, dropout: float) -> Queries:
    """A head of an image at a time, its map in a core's cache."""
    return _native.attend(q, k, v, dropout) if _native.fits(q, k, v, bias) else plain(q, k, v, bias, dropout)


KERNELS: dict[str, Callable[[Queries, Keys, Keys, Tensor | None, float], Queries]] = {
    "plain": plain,
    "fused": fused,
    "native": native,
}


def attend(q: Queries, k: Keys, v: Keys, bias: Tensor | None = None, dropout: float = 0.0) -> Queries:
    """Softmax attention by the kernel chosen for these tensors."""
    name = _chosen.get(_situation(q.device.type, q.dtype, k.shape[-2])) or rule(q.device.type, q.dtype, k.shape[-2])
    if name == "fused" and dropout and q.device.type == "cpu":
        name = "plain"  # torch's fused one has no dropout of its own on a CPU
    return KERNELS[name](q, k, v, bias, dropout)


def measure(
    device: str, dtype: torch.dtype, length: int, heads: int, head_width: int, batch: int, dropout: float = 0.0
) -> dict[str, float]:
    """Seconds of one forward and backward by each kernel; the fastest is chosen from now on for that situation."""
    shape = (batch, heads, length, head_width)
    generator = torch.Generator(device).manual_seed(0)
    q, k, v = (torch.randn(shape, device=device, generator=generator).to(dtype).requires_grad_() for _ in range(3))
    here = dict(KERNELS)
    if not _native.fits(q, k, v, None):
        here.pop("native", None)
    if dropout and device == "cpu":
        here.pop("fused", None)
    seconds = dict.fromkeys(here, float("inf"))
    for _ in range(5):  # rounds by turns: a machine that slows down slows all
        for name, kernel in here.items():
            start = time.perf_counter()
            kernel(q, k, v, None, dropout).sum().backward()
            if device == "cuda":
                torch.cuda.synchronize()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    _chosen[_situation(device, dtype, length)] = min(seconds, key=seconds.__getitem__)
    return seconds


def chosen() -> dict[str, str]:
    """The decisions made so far, to write into a plan."""
    return dict(_chosen)


def adopt(decisions: Mapping[str, str]) -> None:
    """Take up the decisions of a plan in place of measuring again."""
    _chosen.update({situation: name for situation, name in decisions.items() if name in KERNELS})


def _situation(device: str, dtype: torch.dtype, length: int) -> str:
    return f"{device} {str(dtype).removeprefix('torch.')} {length}"


def rule(device: str, dtype: torch.dtype, length: int) -> str:
    """The kernel where nothing was measured; on the meta device the one whose products can be counted."""
    plain_wins = device == "cpu" and dtype == torch.bfloat16 and length <= PLAIN_UP_TO
    return "plain" if plain_wins or device == "meta" else "fused"
