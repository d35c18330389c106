"""Dropout whose masks cost little: x * mask / (1 - rate), the mask one with probability 1 - rate, else zero.

torch draws a CPU's masks one number at a time, which takes a third of a small ViT's training step. Here 16 random bits
an element are enough in eager mode, and in compiled code a hash of the element's place, which needs no memory and
fuses with what stands around it. Where a run has taken up the native library, its pass is faster than both. All take
their seeds from torch's global generator; a GPU keeps torch's own.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from vitlab.parts.native import library, passes

# Odd multipliers that spread each bit of a 32-bit number over the upper ones (Appleby's MurmurHash3), as signed.
_FIRST, _SECOND = -2048144789, -1028477387


class Dropout(nn.Dropout):
    """As torch's, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zero each element with this probability and scale the others, so that the mean stays."""
    if rate == 0:
        return x
    if x.device.type != "cpu" or rate == 1:
        return functional.dropout(x, rate)
    if library.fits(x):
        return passes.dropout(x, rate)
    mask = hashed(x, rate) if torch.compiler.is_compiling() else _drawn(x, rate)
    return x * mask * (1 / (1 - rate))


def hashed(x: Tensor, rate: float) -> Tensor:
    """Ones and zeros in the type of `x`: a hash of each element's place and of two fresh seeds, against the rate.

    No boolean is made: compiled code would keep it for the backward pass, and writes booleans one at a time.
    """
    # The compiler keeps the result of `rand`; that of `randint` it would draw again for every element.
    seeds = (torch.rand(2) * 2**24).to(torch.int32)
    place = torch.arange(x.numel(), dtype=torch.int32).view(x.shape)
    mixed = (place ^ seeds[0]) * _FIRST
    mixed = ((mixed ^ ((mixed >> 15) & 0x1FFFF)) + seeds[1]) * _SECOND
    below = ((mixed & 0x7FFFFFFF) - min(round(rate * 2**31), 2**31 - 1)) >> 31  # -1 where the hash is below the rate
    return (below + 1).to(x.dtype)


def _drawn(x: Tensor, rate: float) -> Tensor:
    """Ones and zeros in the type of `x`, from 16 random bits each: four to a number of the generator."""
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    least = min(round((rate - 0.5) * 2**16), 2**15 - 1)
    # Written straight in the type that is multiplied: twice as fast as by way of booleans.
    return torch.ge(bits[: x.numel()].view(x.shape), least, out=torch.empty_like(x, requires_grad=False))
