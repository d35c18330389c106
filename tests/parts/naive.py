"""Attention one query at a time, as slow and as plain as can be: what the fast code is held against."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

Sees = Callable[[int, int], bool]


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, sees: Sees = lambda i, j: True) -> Tensor:
    """softmax(q k^T / sqrt(E) + bias) v for (B, H, N, E), where query i looks at key j only if it `sees` it."""
    q, k, v = q.detach(), k.detach(), v.detach()
    out = v.new_zeros(*q.shape[:3], v.shape[3])
    for b, h, i in product(range(q.shape[0]), range(q.shape[1]), range(q.shape[2])):
        keys = [j for j in range(k.shape[2]) if sees(i, j)]
        scores = [float(q[b, h, i] @ k[b, h, j]) / math.sqrt(q.shape[3]) for j in keys]
        if bias is not None:
            scores = [score + float(bias.detach()[h, i, j]) for score, j in zip(scores, keys, strict=True)]
        weights = [math.exp(score) for score in scores]
        for weight, j in zip(weights, keys, strict=True):
            out[b, h, i] += weight / sum(weights) * v[b, h, j]
    return out


def heads(x: Tensor, count: int) -> Tensor:
    """(B, N, D) to (B, H, N, D / H): head h has the h-th run of channels."""
    each = x.shape[2] // count
    return torch.stack([x[:, :, h * each : (h + 1) * each] for h in range(count)], dim=1)


def side_by_side(x: Tensor) -> Tensor:
    """The inverse of `heads`."""
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=2)


def qkv(heads: int, queries: int, width: int, keys: int | None = None, images: int = 2) -> list[Tensor]:
    """Random queries, keys and values in float64."""
    lengths = (queries, keys or queries, keys or queries)
    return [torch.randn(images, heads, length, width, dtype=torch.float64) for length in lengths]
