"""Gradient-weighted attention rollout (Chefer, Gur and Wolf 2021, Generic Attention-model Explainability, eq. 5-6).

Of each map only what speaks for the class counts: A' = mean of heads of (dy/dA * A)+, and R <- R + A' R from the first
layer to the last, R = I before it. The head's rows of R say how much each patch matters, and unlike plain rollout they
say it for a class.
"""

import torch

from vitlab.explain.grids import over_tokens
from vitlab.explain.methods.attention import on_grid
from vitlab.explain.methods.method import Heat, Images, Targets, score
from vitlab.explain.methods.rollout import stepped
from vitlab.explain.record import Recording, Seen, recording
from vitlab.models.blueprint import Model


def weighted_rollout(model: Model, images: Images, targets: Targets) -> Heat:
    """How much each patch speaks for the class."""
    with recording(model, gradients=True) as seen, torch.enable_grad():
        logits = model(images)
        return of_recording(seen, score(logits, targets))


def of_recording(seen: Recording, of: torch.Tensor) -> Heat:
    """The same of a recording of every layer with gradients, for a score."""
    gradients = seen.map_gradients(of)
    weights = seen.reading[:, None]
    later: Seen | None = None
    for layer, gradient in zip(reversed(list(seen)), reversed(gradients), strict=True):
        if later is not None:
            weights = stepped(weights, layer, later)
        speaks_for = (gradient * layer.map).clamp_min(0).mean(dim=1, keepdim=True)
        weights = weights + weights @ over_tokens(layer, speaks_for)[:, 0].to(weights)
        later = layer
    return on_grid((weights - _itself(seen, weights))[:, 0], seen[0])


def _itself(seen: Recording, like: torch.Tensor) -> torch.Tensor:
    """What is there before any layer: the tokens that are read, which say nothing of where they looked."""
    weights = seen.reading[:, None].to(like)
    for layer, later in zip(reversed(list(seen)[:-1]), reversed(list(seen)[1:]), strict=True):
        weights = stepped(weights, layer, later)
    return weights
