"""Maps of every kind of attention brought to one thing: the tokens of the image.

Windows and neighbourhoods need nothing, since their maps are over all tokens with zeros outside. Spatial reduction
looks at a smaller grid: a key's weight is spread evenly over the patches it was made of. Between layers of different
grids (stages) a patch is taken for the even mixture of the patches it covers.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from vitlab.errors import UserError
from vitlab.explain.record import Seen

Pair = tuple[int, int]


def shrinking(seen: Seen) -> int:
    """By how much the keys' grid is smaller than the patches' own; 1 where they are the same."""
    keys, (rows, columns) = seen.k.shape[2] - seen.prefix, seen.grid
    for ratio in range(max(rows, columns), 0, -1):
        if (rows // ratio) * (columns // ratio) == keys:
            return ratio
    raise UserError(
        f"the {keys} keys of {seen.place.name} are no grid that {rows}x{columns} patches shrink to, so its map cannot "
        "be laid on the image"
    )


def over_tokens(seen: Seen, weights: Float[Tensor, "B H N M"]) -> Float[Tensor, "B H N N"]:
    """A map over the layer's own tokens, whatever its keys were."""
    if seen.k.shape[2] == seen.q.shape[2]:
        return weights
    return weights @ _spread(seen.grid, shrinking(seen), seen.prefix).to(weights)


def between(before: Seen, after: Seen) -> Float[Tensor, "later earlier"] | None:
    """How tokens of a later layer are made of those of an earlier one, where the grid changed; else None."""
    if before.grid == after.grid and before.prefix == after.prefix:
        return None
    if before.prefix != after.prefix:
        raise UserError(
            f"{before.place.name} and {after.place.name} have other tokens before the patches, so attention cannot be "
            "followed from one to the other"
        )
    return mixture(before.grid, after.grid, before.prefix)


def mixture(fine: Pair, coarse: Pair, prefix: int) -> Tensor:
    """Rows of `coarse`, each an even mixture of the patches of `fine` that it covers, by area."""
    patches = torch.kron(overlap(fine[0], coarse[0]), overlap(fine[1], coarse[1]))
    return torch.block_diag(torch.eye(prefix), patches)


def _spread(grid: Pair, ratio: int, prefix: int) -> Tensor:
    """Rows of the smaller grid, each even over the patches it was made of; a remainder at the border was not seen."""
    sides = []
    for many in grid:
        owner = torch.arange(many) // ratio
        sides.append((owner[None] == torch.arange(many // ratio)[:, None]).float() / ratio)
    return torch.block_diag(torch.eye(prefix), torch.kron(*sides))


def overlap(fine: int, coarse: int) -> Tensor:
    """(coarse, fine): the share of each coarse interval that a fine one fills, both cutting the same line."""
    low, high = (torch.arange(coarse) + offset for offset in (0, 1))
    start, end = (torch.arange(fine) + offset for offset in (0, 1))
    shared = torch.minimum(high[:, None] / coarse, end[None] / fine) - torch.maximum(
        low[:, None] / coarse, start[None] / fine
    )
    return shared.clamp_min(0) * coarse
