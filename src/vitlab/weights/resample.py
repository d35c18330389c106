"""Patches and positions for other sizes: what a model keeps of them when its images or patches change."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Pair = tuple[int, int]


def patch_kernels(
    kernels: Float[Tensor, "D channels X Y"], size: Pair, mode: str = "bicubic"
) -> Float[Tensor, "D channels P Q"]:
    """Kernels that see in a resized patch what the old ones saw in the patch (Beyer et al. 2023, FlexiViT).

    With B the matrix that resizes a patch, <x, w> = <B x, w'> for every x wants B^T w' = w. The pseudo-inverse solves
    it exactly for larger patches, and for smaller ones as nearly as can be (section 3.4: PI-resize).
    """
    old: Pair = (kernels.shape[2], kernels.shape[3])
    basis = torch.eye(old[0] * old[1]).reshape(-1, 1, *old)
    resized = functional.interpolate(basis, size=size, mode=mode, antialias=True, align_corners=False)
    solved = torch.linalg.pinv(resized.flatten(1).double())  # rows of `resized` are B's columns: this is B^T
    found = kernels.double().flatten(2) @ solved.T
    return found.unflatten(2, size).to(kernels.dtype)


def input_channels(kernels: Float[Tensor, "D old X Y"], channels: int) -> Float[Tensor, "D new X Y"]:
    """Kernels for another number of channels: taken by turns and scaled, so that the sum keeps its size.

    For one channel this is the sum of all: a grey picture is seen as the same picture in every channel was.
    """
    old = kernels.shape[1]
    if channels == 1:
        return kernels.sum(dim=1, keepdim=True)
    turns = torch.arange(channels) % old
    return kernels[:, turns] * (old / channels)
