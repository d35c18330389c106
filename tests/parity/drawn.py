"""Weights and pixels drawn alike on every machine and in every environment: small integers times a power of two.

A tensor's values depend on its name and shape alone, so that a network of millions of weights is compared without
keeping them. It imports torch alone: peers run it too.
"""

import math
import zlib

import torch


def drawn(name, shape, spread):
    """Integers of 7 bits and a sign, scaled by a power of two to about this standard deviation."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    steps = torch.randint(-127, 128, tuple(shape), generator=generator)
    return steps * 2.0 ** round(math.log2(spread / 73))  # 73 is the standard deviation of the integers


def pixels(shape):
    """A batch of normalised images."""
    return drawn("images", shape, 1.0)


def value(name, shape):
    """What a tensor of a transformer holds, by its name: matrices by their inputs, norms about one, the rest small."""
    if len(shape) in (2, 4):
        return drawn(name, shape, math.prod(shape[1:]) ** -0.5)
    return drawn(name, shape, 0.25) + (1.0 if len(shape) == 1 and name.endswith(("weight", "scale")) else 0.0)


def fill(model):
    """Give a network with batch norms weights that keep its signals at one size, none of them a zero or one."""
    for name, tensor in model.state_dict().items():
        if name.endswith("running_var"):
            value = 1 + drawn(name, tensor.shape, 0.25)
        elif tensor.dim() >= 2:
            value = drawn(name, tensor.shape, (2 / tensor[0].numel()) ** 0.5)
        elif name.endswith("weight"):
            value = 0.25 + drawn(name, tensor.shape, 0.125)
        elif tensor.is_floating_point():
            value = drawn(name, tensor.shape, 0.25)
        else:
            continue
        tensor.copy_(value)
