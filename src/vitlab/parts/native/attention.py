"""The library's softmax attention as a function that torch can differentiate.

Queries, keys and values usually are three views of one projection. `parted` makes such views, and their gradients are
written side by side as well, so that putting them together again copies nothing.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from vitlab.parts.native import library
from vitlab.parts.native.passes import LANES, Drop, fresh

LONGEST = 256  # tokens: a head's map of floats has to stay in a core's cache


class _Tokens(ctypes.Structure):
    """`Tokens` of softmax.cpp: where a head's tokens lie, in elements."""

    _fields_ = (
        ("at", ctypes.c_void_p), ("image", ctypes.c_int64), ("head", ctypes.c_int64), ("token", ctypes.c_int64),
    )  # fmt: skip


class _Sizes(ctypes.Structure):
    """`Sizes` of softmax.cpp."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("images", "heads", "queries", "keys", "width"))


def fits(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> bool:
    """Whether the library can take these: (B, H, N, E) in bfloat16 and nothing added to the scores."""
    return (
        bias is None
        and q.dtype == k.dtype == v.dtype == torch.bfloat16
        and q.dim() == 4
        and q.shape[-1] % LANES == 0
        and max(q.shape[2], k.shape[2]) <= LONGEST
        and library.fits(q, k, v)
    )


def attend(q: Tensor, k: Tensor, v: Tensor, rate: float) -> Tensor:
    """softmax(q k^T / sqrt(E)) v, with dropout on the map; heads lie beside each other, ready to be merged."""
    out: Tensor = _Attend.apply(q, k, v, fresh(rate))
    return out


def parted(projected: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (B, H, N, E) of a projection (B, N, 3 H E)."""
    if library.fits(projected):
        q, k, v = _Parted.apply(projected.unflatten(-1, (3, heads, -1)))
    else:
        q, k, v = projected.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    return q, k, v


def _lying(x: Tensor) -> Tensor:
    """With the vector of a token side by side, and tokens at even places: pairs of numbers are read at once."""
    return x if x.stride(3) == 1 and not any(step % 2 for step in x.stride()[:3]) else x.contiguous()


def _tokens(x: Tensor) -> _Tokens:
    return _Tokens(x.data_ptr(), x.stride(0), x.stride(1), x.stride(2))


def _side_by_side(x: Tensor) -> Tensor:
    """An empty tensor of this shape whose heads lie beside each other."""
    images, heads, tokens, width = x.shape
    return x.new_empty(images, tokens, heads, width).transpose(1, 2)


def _apart(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _side_by_side(q), _side_by_side(k), _side_by_side(v)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, drop: Drop) -> Tensor:
        q, k, v = _lying(q), _lying(k), _lying(v)
        out, sums = _side_by_side(q), torch.empty(q.shape[:3])
        sizes = _Sizes(*q.shape[:3], k.shape[2], q.shape[3])
        library.call("vitlab_attend", sizes, *map(_tokens, (q, k, v, out)), sums, drop)
        ctx.save_for_backward(q, k, v, sums)
        ctx.sizes, ctx.drop = sizes, drop
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, sums = ctx.saved_tensors
        given = (q, k, v, _lying(grad))
        found = _views(q.new_empty(*_whole(q))) if q.shape == k.shape else _apart(q, k, v)
        library.call("vitlab_attend_back", ctx.sizes, *map(_tokens, given), sums, *map(_tokens, found), ctx.drop)
        return (*found, None)


def _whole(x: Tensor) -> tuple[int, ...]:
    """The shape of a projection of which these are the queries: (B, N, 3, H, E)."""
    images, heads, tokens, width = x.shape
    return images, tokens, 3, heads, width


def _views(whole: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (whole[:, :, which].transpose(1, 2) for which in range(3))
    return q, k, v


class _Parted(Function):
    @staticmethod
    def forward(ctx: Any, whole: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _views(whole)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        whole = grads[0]._base
        if whole is not None and whole.shape == _whole(grads[0]):
            places = [view.data_ptr() for view in _views(whole)]
            if all(g._base is whole and g.data_ptr() == place for g, place in zip(grads, places, strict=True)):
                return whole
        return torch.stack([grad.transpose(1, 2) for grad in grads], dim=2)
