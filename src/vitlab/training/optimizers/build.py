"""A recipe's optimizer over a model's parameters; AdamW decays matrices alone."""

import torch
from torch import nn

from vitlab.training.optimizers.groups import weights
from vitlab.training.recipe import Recipe


def optimizer(model: nn.Module, recipe: Recipe, dtype: torch.dtype = torch.float32) -> torch.optim.Optimizer:
    """What moves the model's parameters under this recipe."""
    return recipe.optimizer.build(weights(model), recipe.rate, recipe.betas, recipe.weight_decay, dtype)


def adamw(
    matrices: list[nn.Parameter],
    vectors: list[nn.Parameter],
    rate: float,
    betas: tuple[float, float],
    weight_decay: float,
) -> torch.optim.Optimizer:
    """AdamW with weight decay on matrices alone: none on biases, norms, scales, tokens and positions."""
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)
