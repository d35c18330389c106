"""The library's passes as functions that torch can differentiate: dropout, GELU with dropout, layer normalisation.

Of a mask only its two seeds are kept, drawn from torch's global generator: the way back makes the mask again.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from vitlab.parts.native import library

LANES = 16  # a normalised vector has to be of whole vectors of the processor


class Drop(ctypes.Structure):
    """`Drop` of numbers.h: the share of zeros in 2^16ths, and what the others are multiplied by."""

    _fields_ = (
        ("first", ctypes.c_uint32), ("second", ctypes.c_uint32), ("below", ctypes.c_uint32), ("scale", ctypes.c_float),
    )  # fmt: skip


def fresh(rate: float) -> Drop:
    """A mask that was never there before."""
    if not rate:
        return Drop(0, 0, 0, 1.0)
    seeds = int(torch.empty((), dtype=torch.int64, device="cpu").random_(-(2**63), None)) & (2**64 - 1)
    return Drop(seeds & 0xFFFFFFFF, seeds >> 32, min(round(rate * 2**16), 2**16 - 1), 1 / (1 - rate))


def dropout(x: Tensor, rate: float) -> Tensor:
    """x * mask / (1 - rate)."""
    out: Tensor = _Dropout.apply(x, fresh(rate))
    return out


def gelu(x: Tensor, rate: float) -> Tensor:
    """x times the share of the normal distribution below x, then dropout."""
    out: Tensor = _Gelu.apply(x, fresh(rate))
    return out


def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Layer normalisation over the last dimension."""
    out: Tensor = _Norm.apply(x, weight, bias, eps)
    return out


def _half(x: Tensor) -> ctypes.c_int:
    return ctypes.c_int(x.dtype == torch.bfloat16)


class _Dropout(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, drop: Drop) -> Tensor:
        ctx.drop, x = drop, x.contiguous()
        out = torch.empty_like(x)
        library.call("vitlab_drop", _half(x), x, out, x.numel(), drop)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        grad = grad.contiguous()
        out = torch.empty_like(grad)
        library.call("vitlab_drop", _half(grad), grad, out, grad.numel(), ctx.drop)
        return out, None


class _Gelu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, drop: Drop) -> Tensor:
        ctx.drop, x = drop, x.contiguous()
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        library.call("vitlab_bend", _half(x), x, out, x.numel(), drop)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        grad = grad.contiguous()
        out = torch.empty_like(x)
        library.call("vitlab_bend_back", _half(x), x, grad, out, x.numel(), ctx.drop)
        return out, None


class _Norm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        x, ctx.dtype = x.contiguous(), weight.dtype
        width = x.shape[-1]
        out, kept = torch.empty_like(x), torch.empty(x.numel() // width, 2)
        weight = weight.float()
        library.call("vitlab_norm", _half(x), x, weight, bias.float(), out, kept, len(kept), width, eps)
        ctx.save_for_backward(x, weight, kept)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight, kept = ctx.saved_tensors
        grad, out, slices, width = grad.contiguous(), torch.empty_like(x), torch.get_num_threads(), x.shape[-1]
        sums = torch.zeros(slices, 2, width)
        library.call("vitlab_norm_back", _half(x), x, grad, weight, kept, out, sums, len(kept), width, slices)
        of_weight, of_bias = sums.sum(dim=0)
        return out, of_weight.to(ctx.dtype), of_bias.to(ctx.dtype), None
