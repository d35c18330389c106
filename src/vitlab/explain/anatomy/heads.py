"""Each head in a line: how far it looks, how evenly, and at what.

Distance is the mean distance in pixels between a patch and the patches it looks at, weighted by attention (Dosovitskiy
et al. 2021, figure 7). Entropy is of a patch's row, in bits: log2 of the number of tokens that it looks at evenly. A
head is

    sink      where more than half of what patches look at are tokens before the patches (class token, registers)
    local     where it looks less than half as far as a head that looks everywhere alike
    global    otherwise
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from vitlab.explain.grids import over_tokens
from vitlab.explain.methods.method import Images
from vitlab.explain.record import Seen, recording
from vitlab.models.blueprint import Model

Pair = tuple[int, int]
_SINK, _LOCAL = 0.5, 0.5


class Head(BaseModel):
    """One head of one layer, over all images."""

    model_config = ConfigDict(frozen=True)

    layer: int
    head: int
    distance: float  # pixels
    even: float  # the distance of a head that looks at all patches alike
    entropy: float | None  # bits; None where a map has signs
    prefix: float  # the share of tokens before the patches in what patches look at
    itself: float  # the share of the patch itself

    @property
    def kind(self) -> str:
        """sink, local or global."""
        if self.prefix > _SINK:
            return "sink"
        return "local" if self.distance < _LOCAL * self.even else "global"


def heads(model: Model, batches: Iterable[Images]) -> tuple[Head, ...]:
    """Every head over all images, layer by layer."""
    sums: dict[int, Tensor] = {}
    evens: dict[int, float] = {}
    images = 0
    with recording(model) as seen, torch.no_grad():
        for batch in batches:
            model(batch)
            images += len(batch)
            for layer in seen:
                apart = distances(layer.grid, (batch.shape[2], batch.shape[3])).to(batch.device)
                found = measured(layer, apart).sum(dim=0)
                sums[layer.place.layer] = sums.get(layer.place.layer, 0) + found
                evens[layer.place.layer] = float(apart.mean())
    return tuple(
        _head(layer, head, row.tolist(), evens[layer])
        for layer, total in sums.items()
        for head, row in enumerate(total / images)
    )


def measured(layer: Seen, apart: Float[Tensor, "P P"]) -> Float[Tensor, "B H 4"]:
    """Distance, entropy, share of the prefix and of the patch itself, each a mean over patches."""
    rows = over_tokens(layer, layer.map)[:, :, layer.prefix :].double()
    to_patches = rows[..., layer.prefix :]
    among = to_patches / to_patches.sum(dim=-1, keepdim=True).clamp_min(1e-12)
    distance = (among * apart).sum(dim=-1).mean(dim=-1)
    signed = rows.min() < -1e-4
    bits = (
        rows.new_full(distance.shape, torch.nan)
        if signed
        else -torch.special.xlogy(rows, rows.clamp_min(1e-30)).sum(-1).mean(-1)
    )
    prefix = rows[..., : layer.prefix].sum(dim=-1).mean(dim=-1)
    itself = to_patches.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    return torch.stack([distance, bits / torch.log(torch.tensor(2.0)), prefix, itself], dim=-1)


def distances(grid: Pair, image: Pair) -> Float[Tensor, "P P"]:
    """Pixels between the middles of any two patches."""
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    middles = torch.stack([rows.flatten() * image[0] / grid[0], columns.flatten() * image[1] / grid[1]], dim=1)
    return torch.cdist(middles.double(), middles.double())


def _head(layer: int, head: int, row: list[float], even: float) -> Head:
    distance, entropy, prefix, itself = row
    return Head(
        layer=layer,
        head=head,
        distance=distance,
        even=even,
        entropy=entropy if entropy == entropy else None,
        prefix=prefix,
        itself=itself,
    )
