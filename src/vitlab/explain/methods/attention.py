"""What the head's input looks at: the class token's row of a map, and what stands for it where there is no class token.

The pool says how much of each token the head reads. With a class token that is the token itself, so its row of the map
is the answer; with another pool it is the rows of the patches, mixed as the pool mixes them: where the tokens that
were read had looked.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from vitlab.explain.grids import over_tokens
from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.explain.record import Seen, recording
from vitlab.models.blueprint import Model


def rows(seen: Seen, reading: Float[Tensor, "B N"] | None = None) -> Float[Tensor, "B H N"]:
    """Head by head, what was looked at by the tokens that were read; of a layer before the last stage, by all alike."""
    whole = over_tokens(seen, seen.map)
    if reading is None or reading.shape[1] != whole.shape[2]:
        reading = _even(seen, whole)
    return torch.einsum("bn,bhnm->bhm", reading.to(whole), whole)


def on_grid(weights: Float[Tensor, "*lead N"], seen: Seen) -> Float[Tensor, "*lead rows columns"]:
    """The patches' share of weights on tokens, laid out as they lie."""
    return weights[..., seen.prefix :].unflatten(-1, seen.grid)


def last_layer(model: Model, images: Images, targets: Targets) -> Heat:
    """The last layer, averaged over its heads. It does not depend on the class in question."""
    with recording(model, (-1,)) as seen, torch.no_grad():
        model(images)
    return on_grid(rows(seen[-1], seen.reading).mean(dim=1), seen[-1])


def _even(seen: Seen, like: Tensor) -> Float[Tensor, "B N"]:
    patches = seen.grid[0] * seen.grid[1]
    even = like.new_full((len(like), like.shape[2]), 1 / patches)
    even[:, : seen.prefix] = 0
    return even
