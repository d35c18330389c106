"""A model's parameters by what they are: hidden matrices, other matrices, and all that is no matrix."""

from typing import NamedTuple

from torch import nn


class Weights(NamedTuple):
    """Parameters that are trained; each is in one list."""

    hidden: list[nn.Parameter]  # of linear layers and convolutions between the first and the last
    matrices: list[nn.Parameter]  # the first layer, which sees pixels, and the last, which makes logits
    vectors: list[nn.Parameter]  # biases, norms, scales; tokens and positions, known by living in an Embedding


def weights(model: nn.Module) -> Weights:
    """Sort the parameters. Layers come in the order in which the model declares them, which is that of its forward.

    Not hidden either: a convolution of one channel at a time, and a matrix of one row, which have nothing to
    orthogonalise.
    """
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    layers = [module for module in model.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    logits = len(layers[-1].weight) if layers else 0
    while layers and len(layers[-1].weight) == logits:  # two heads where a model was distilled
        layers.pop()
    inner = {id(layer.weight) for layer in layers[1:] if min(layer.weight.flatten(1).shape) > 1 and _whole(layer)}
    found = Weights([], [], [])
    for parameter in model.parameters():
        if parameter.requires_grad:
            vector = parameter.ndim < 2 or id(parameter) in tables
            kind = found.vectors if vector else found.hidden if id(parameter) in inner else found.matrices
            kind.append(parameter)
    return found


def _whole(layer: nn.Linear | nn.Conv2d) -> bool:
    return isinstance(layer, nn.Linear) or layer.groups == 1
