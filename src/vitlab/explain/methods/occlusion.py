"""Occlusion (Zeiler and Fergus 2014): cover one place after another and see how far the class's logit falls.

A place is a patch, or a square of patches where they are many; covered means the mean colour of the training images.
"""

import torch
from torch import Tensor

from vitlab.explain.cells import cells, enlarged
from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.explain.record import evaluating
from vitlab.models.blueprint import Model

_PASSES_AT_ONCE = 128


def occlusion(model: Model, images: Images, targets: Targets) -> Heat:
    """How far the logit falls when a place is covered."""
    grid = cells(model, images)
    masks = enlarged(torch.eye(grid[0] * grid[1]).view(-1, *grid), images)
    return torch.stack(
        [_of_one(model, image, int(target), masks) for image, target in zip(images, targets, strict=True)]
    ).unflatten(1, grid)


@torch.no_grad()
def _of_one(model: Model, image: Tensor, target: int, masks: Tensor) -> Tensor:
    with evaluating(model):
        whole = model(image[None])[0, target]
        parts = [model(image * (1 - mask[:, None]))[:, target] for mask in masks.split(_PASSES_AT_ONCE)]
    return whole - torch.cat(parts)
