"""What the model knows of places: how alike the vectors of positions are, and of which waves they are made."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vitlab.errors import UserError
from vitlab.models.blueprint import Model

Pair = tuple[int, int]


def vectors(model: Model) -> tuple[Float[Tensor, "P D"], Pair]:
    """The position vector of each patch, and their grid; a sentence where positions are told in another way."""
    table = getattr(getattr(model, "position", None), "table", None)
    if table is None:
        raise UserError("this model adds no vectors of positions to its tokens")
    grid: Pair = table.site.grid
    with torch.no_grad():
        return table(grid)[table.site.prefix :].detach().float().cpu(), grid


def alike(found: Float[Tensor, "P D"]) -> Float[Tensor, "P P"]:
    """The cosine between any two positions (Dosovitskiy et al. 2021, figure 7)."""
    unit = functional.normalize(found, dim=1)
    return unit @ unit.T


def waves(found: Float[Tensor, "P D"], grid: Pair) -> Float[Tensor, "rows columns"]:
    """The power of each spatial frequency, summed over channels, as a share of one; zero frequency in the middle.

    The mean over places is taken off first, so that what is left says how positions differ.
    """
    picture = (found - found.mean(dim=0)).T.reshape(-1, *grid)
    power: Tensor = torch.fft.fft2(picture.double()).abs().square().sum(dim=0)
    return torch.fft.fftshift(power / power.sum().clamp_min(1e-30)).float()
