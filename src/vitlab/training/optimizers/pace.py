"""An optimizer's groups divided by how fast their weights learn."""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from vitlab.models.blueprint import Model
from vitlab.training.optimizers.rates import Rates
from vitlab.training.optimizers.together import Together


class Pace(NamedTuple):
    """Of one weight: what the rate is multiplied with, and whether it waits while the head learns alone."""

    factor: float
    waits: bool


def paces(model: Model, rates: Rates) -> dict[int, Pace]:
    """The pace of each parameter, by its id."""
    layers = model.layers
    stretches = [layers.stem, *((block,) for block in layers.blocks), layers.last, layers.head]
    found = {}
    for place, (modules, factor) in enumerate(zip(stretches, rates.paces(len(layers.blocks)), strict=True)):
        for module in modules:
            for parameter in module.parameters():
                found[id(parameter)] = Pace(factor, waits=place < len(stretches) - 1)
    return found


def divided(chosen: torch.optim.Optimizer, paced: Mapping[int, Pace]) -> torch.optim.Optimizer:
    """The same optimizer, not used yet, with a group for each pace; the fastest first, whose rate is shown."""
    parts = chosen.parts if isinstance(chosen, Together) else (chosen,)
    for part in parts:
        groups = []
        for group in part.param_groups:
            for pace in sorted({paced[id(parameter)] for parameter in group["params"]}, key=lambda p: -p.factor):
                mine = [parameter for parameter in group["params"] if paced[id(parameter)] == pace]
                groups.append({**group, "params": mine, "lr": group["lr"] * pace.factor, "waits": pace.waits})
        part.param_groups = sorted(groups, key=lambda group: -group["lr"])
    return Together(parts) if isinstance(chosen, Together) else chosen
