"""A ranking by lot: the baseline that a method has to beat before anyone believes it."""

import zlib

import torch

from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.models.blueprint import Model


def random(model: Model, images: Images, targets: Targets) -> Heat:
    """Drawn for each batch of images, the same numbers each time."""
    generator = torch.Generator().manual_seed(zlib.crc32(images.cpu().numpy().tobytes()))
    return torch.rand(len(images), *images.shape[2:], generator=generator).to(images.device)
