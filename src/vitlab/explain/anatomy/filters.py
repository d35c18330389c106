"""What the first layer responds to: the main components of its filters (Dosovitskiy et al. 2021, figure 7, left).

The filters, one a row, are taken apart by a singular value decomposition: the right vectors are patterns of pixels, in
the order of how much of the filters they make up.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.models.blueprint import Model


def filters(model: Model) -> Float[Tensor, "count channels rows columns"]:
    """The filters of the first layer over pixels."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            return module.weight.detach().float().cpu()
    patch = getattr(model, "patch", None)
    size, linear = getattr(patch, "size", None), getattr(patch, "proj", None)
    if size is None or not isinstance(linear, nn.Linear):
        raise UserError("the first layer of this model has no filters over pixels")
    return linear.weight.detach().float().cpu().unflatten(1, (-1, *size))


def components(
    found: Float[Tensor, "count channels rows columns"], most: int
) -> tuple[Float[Tensor, "some channels rows columns"], Float[Tensor, " some"]]:
    """The first patterns, and the share of the filters' square sum that each makes up."""
    _, sizes, patterns = torch.linalg.svd(found.flatten(1), full_matrices=False)
    shares = sizes.square() / sizes.square().sum().clamp_min(1e-30)
    return patterns[:most].unflatten(1, found.shape[1:]), shares[:most]
