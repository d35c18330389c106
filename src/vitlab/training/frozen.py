"""Layers that stay as they are while the rest of a model learns.

A frozen layer takes no gradient, so that none is computed for what comes before it, and stays in evaluation mode: no
dropout in it, and the statistics of its norms do not move.
"""

from typing import Literal

import torch
from torch import nn

from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint, Model
from vitlab.training.adapters import adapt
from vitlab.training.recipe import Recipe

Freeze = int | Literal["all"]


def hold(model: Model, recipe: Recipe) -> list[nn.Module]:
    """Freeze what the recipe leaves as it is, adapters put in where it asks for them; the modules that stay."""
    return freeze(model, recipe.freeze) if recipe.lora is None else adapt(model, recipe.lora)


def freeze(model: Model, count: Freeze) -> list[nn.Module]:
    """Freeze the stem and so many blocks after it, or all but the head; the modules that were frozen."""
    layers = model.layers
    if count == 0:
        return []
    before_head = (*layers.stem, *layers.blocks, *layers.last)
    still = [*before_head] if count == "all" else [*layers.stem, *layers.blocks[:count]]
    for module in still:
        module.requires_grad_(False)
        module.eval()
    return still


def check_freeze(blueprint: Blueprint, count: Freeze) -> None:
    """One sentence where there are not so many blocks."""
    with torch.device("meta"):
        there = len(blueprint.build().layers.blocks)
    if count != "all" and count > there:
        raise UserError(
            f"{blueprint.name} has {there} blocks, fewer than the {count} that are to be frozen; "
            "take fewer, or --freeze all for everything but the head"
        )
