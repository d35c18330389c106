"""AdamW, with weight decay on matrices alone: none on biases, norms, scales, tokens and positions."""

import torch
from torch import nn

from vitlab.training.recipe import Recipe


def groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """The model's parameters in two groups, decayed and not; learned vectors are known by living in an Embedding."""
    vectors = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decayed = [parameter for parameter in parameters if parameter.ndim >= 2 and id(parameter) not in vectors]
    chosen = {id(parameter) for parameter in decayed}
    others = [parameter for parameter in parameters if id(parameter) not in chosen]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimizer over the model's parameters."""
    return torch.optim.AdamW(groups(model, recipe.weight_decay), lr=recipe.rate, betas=recipe.betas, fused=True)
