"""Grad-CAM (Selvaraju et al. 2017, eq. 1-2): which places of the last map hold what the class's logit listens to.

Channels k of the last map A of features are weighed by a_k, the mean over places of dy/dA_k, and what speaks for the
class is kept: relu(sum_k a_k A_k). The map is the last one of a convolutional network; in a transformer, the patches
that go into its last block, since what comes out of it is read at the class token alone.
"""

from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.explain.methods.attention import on_grid
from vitlab.explain.methods.method import Heat, Images, Targets, score
from vitlab.explain.record import attention_layers, evaluating, recording
from vitlab.models.blueprint import Model


def grad_cam(model: Model, images: Images, targets: Targets) -> Heat:
    """What of the last map speaks for the class."""
    leaf = images.detach().clone().requires_grad_()  # so that there is a graph even where every weight is frozen
    with torch.enable_grad():
        return (_of_tokens if attention_layers(model) else _of_maps)(model, leaf, targets)


def _of_maps(model: Model, images: Images, targets: Targets) -> Heat:
    kept: list[Tensor] = []

    def keep(_: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.ndim == 4 and output.shape[2] * output.shape[3] > 1:
            kept[:] = [output]

    with evaluating(model), ExitStack() as hooks:
        for module in model.modules():
            hooks.callback(module.register_forward_hook(keep).remove)
        logits = model(images)
    if not kept:
        raise UserError("this model has no map of features to look at")
    return weighed(kept[0], torch.autograd.grad(score(logits, targets), kept[0])[0])


def _of_tokens(model: Model, images: Images, targets: Targets) -> Heat:
    kept: list[Tensor] = []
    with recording(model, (-1,)) as seen, ExitStack() as hooks:
        block = seen.places[0].block
        hooks.callback(block.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0])).remove)
        logits = model(images)
    (gradient,) = torch.autograd.grad(score(logits, targets), kept[0])
    tokens, slopes = (on_grid(each.transpose(1, 2), seen[0]) for each in (kept[0], gradient))
    return weighed(tokens, slopes)


def weighed(maps: Float[Tensor, "B D rows columns"], slopes: Float[Tensor, "B D rows columns"]) -> Heat:
    """relu(sum_k a_k A_k) with a_k the mean slope of channel k."""
    importance = slopes.mean(dim=(2, 3), keepdim=True)
    return (importance * maps).sum(dim=1).clamp_min(0).detach()
