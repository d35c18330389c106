"""Attention rollout (Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers, eq. 1).

A token of a layer is half itself, by the residual, and half what it looked at: A' = (mean of heads + I) / 2. Products
of these, last layer first, say how much of each patch of the image is in each token at the end; the pool says which of
those the head reads. Windows and spatial reduction roll out like any other map; between stages tokens are even mixtures
of those they were made of.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from vitlab.errors import UserError
from vitlab.explain.grids import between, over_tokens
from vitlab.explain.methods.attention import on_grid
from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.explain.record import Recording, Seen, recording
from vitlab.models.blueprint import Model


def rollout(model: Model, images: Images, targets: Targets) -> Heat:
    """How much of each patch the head's input is made of. It does not depend on the class in question."""
    with recording(model) as seen, torch.no_grad():
        model(images)
    return rolled_out(seen)


def rolled_out(seen: Recording) -> Heat:
    """The same of a recording of every layer."""
    weights = seen.reading[:, None]  # B 1 N: from the end back, so that no product of two whole maps is needed
    later: Seen | None = None
    for layer in reversed(list(seen)):
        if later is not None:
            weights = stepped(weights, layer, later)
        weights = weights @ _mixing(layer)
        later = layer
    return on_grid(weights[:, 0], seen[0])


def stepped(weights: Float[Tensor, "B 1 N"], layer: Seen, later: Seen) -> Float[Tensor, "B 1 M"]:
    """Weights on the tokens of a later layer as weights on those of the layer before it."""
    made_of = between(layer, later)
    return weights if made_of is None else weights @ made_of.to(weights)


def _mixing(layer: Seen) -> Float[Tensor, "B N N"]:
    whole = over_tokens(layer, layer.map)
    sums = whole.sum(dim=-1)
    if float(whole.min()) < -1e-4 or float((sums - 1).abs().max()) > 1e-2:
        raise UserError(
            f"the weights of {layer.place.name} are no shares of one (they mix with signs), so products of them are no "
            "flow of attention; take weighted-rollout or a gradient method"
        )
    return (whole.mean(dim=1) + torch.eye(whole.shape[-1]).to(whole)) / 2
