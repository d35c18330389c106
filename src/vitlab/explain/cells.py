"""The places of an image that are covered, ranked and compared: its patches, or where there are many, squares of them.

A model's own patches are the smallest places it can tell apart at its first layer; a staged model has thousands, so
theirs are taken together until no more than `MOST` are left.
"""

from itertools import count

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vitlab.explain.record import evaluating
from vitlab.models.blueprint import Model

Pair = tuple[int, int]
MOST = 256
_WITHOUT_GRID = 14  # a side, for a model that says nothing of its patches


def cells(model: Model, images: Float[Tensor, "B channels X Y"]) -> Pair:
    """Rows and columns of places for images of this size."""
    size = (images.shape[2], images.shape[3])
    patch = getattr(model, "patch", None)
    if patch is None:
        return min(_WITHOUT_GRID, size[0]), min(_WITHOUT_GRID, size[1])
    with evaluating(model), torch.no_grad():
        _, grid = patch(images[:1])
    return coarser(grid)


def coarser(grid: Pair) -> Pair:
    """The grid, or the finest one of squares of its places that has no more than `MOST`."""
    sides = ((-(-grid[0] // side), -(-grid[1] // side)) for side in count(1))
    return next(found for found in sides if found[0] * found[1] <= MOST)


def enlarged(values: Float[Tensor, "B rows columns"], images: Tensor) -> Float[Tensor, "B X Y"]:
    """A value for each place as one for each pixel."""
    return functional.interpolate(values[:, None], size=images.shape[2:], mode="nearest-exact")[:, 0]


def by_cell(heat: Float[Tensor, "B X Y"], grid: Pair) -> Float[Tensor, "B rows columns"]:
    """Values of any grid as the mean over each place, by area."""
    if heat.shape[1:] == grid:
        return heat
    if heat.shape[1] >= grid[0] and heat.shape[2] >= grid[1]:
        return functional.adaptive_avg_pool2d(heat[:, None], grid)[:, 0]
    return functional.interpolate(heat[:, None], size=grid, mode="nearest-exact")[:, 0]
