"""Integrated gradients (Sundararajan et al. 2017, eq. 1), by captum (extra `explain`).

The gradient is integrated along the line from the mean colour to the image, so that pixel for pixel the shares add up
to what the image changed in the logit. That holds as far as the integral does: steps are doubled for the images where
it is off by more than 1 %.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from vitlab.explain.methods.gradients import captum
from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.explain.record import evaluating
from vitlab.models.blueprint import Model

COMPLETE = 0.01  # of the logit's change: the largest error of the sum
_FIRST_STEPS, _MOST_STEPS = 32, 4096  # ReLUs make the line a path of many corners
_PASSES_AT_ONCE = 128


def integrated_gradients(model: Model, images: Images, targets: Targets) -> Heat:
    """Each pixel's share of the logit's change, summed over the channels."""
    return attribute(model, images, targets).sum(dim=1)


def attribute(model: Model, images: Images, targets: Targets) -> Float[Tensor, "B channels X Y"]:
    """The same, channel by channel."""
    found = torch.zeros_like(images)
    left = torch.arange(len(images), device=images.device)
    with evaluating(model):
        method = captum().IntegratedGradients(model)
        with torch.no_grad():
            change = _logit(model, images, targets) - _logit(model, torch.zeros_like(images), targets)
        steps = _FIRST_STEPS
        while len(left) and steps <= _MOST_STEPS:
            part = method.attribute(
                images[left],
                baselines=0.0,
                target=targets[left],
                n_steps=steps,
                internal_batch_size=max(_PASSES_AT_ONCE, len(left)),
            )
            found[left] = part.detach().to(found)
            error = (found[left].flatten(1).sum(dim=1) - change[left]).abs()
            left = left[error > COMPLETE * change[left].abs()]
            steps *= 2
    return found


def _logit(model: Model, images: Images, targets: Targets) -> Tensor:
    logits: Tensor = model(images).gather(1, targets[:, None])[:, 0]
    return logits
