"""What the contract is held against: a miniature of every registered model, and every variant."""

import json
import re
from functools import cache

import torch
from torch import Tensor, nn

from vitlab.models.blueprint import Blueprint, Model
from vitlab.models.plain import Plain
from vitlab.models.registry import blueprint, models

from .miniature import miniature
from .variants import BASE, VARIANTS

CASES: dict[str, Blueprint] = {
    **{name: miniature(blueprint(name)) for name in models()},
    **{f"vit, {what}": BASE.change(name=what, **changes) for what, changes in VARIANTS.items()},
}


def _parts(described: Blueprint) -> str:
    """The description without its name and numbers: what two models of one family and two sizes share."""
    return re.sub(r"\d+(\.\d+)?", "", json.dumps({**described.model_dump(mode="json"), "name": ""}))


# One case for each way to put parts together, for what is too slow to repeat for every size of one family.
DISTINCT = [*dict(reversed([(_parts(case), name) for name, case in CASES.items() if name in models()])).values()]
DISTINCT += [name for name in CASES if name not in models()]


@cache
def built(name: str) -> Model:
    """The model of a case in evaluation mode, moved away from its first values, which hide much (zeros, ones, 1e-5)."""
    torch.manual_seed(0)
    model = CASES[name].build().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
    return model


def grid(case: Blueprint) -> tuple[int, int]:
    """Of the tokens that a model's features are."""
    return case.patch.grid(case.image) if isinstance(case, Plain) else case.grids[-1]


def last_width(case: Blueprint) -> int:
    """Of one of them."""
    return case.width if isinstance(case, Plain) else case.widths[-1]


def images(name: str, count: int = 3) -> Tensor:
    """The same each time, whether the model was built just now or before."""
    case = CASES[name]
    return torch.randn(count, case.channels, *case.image, generator=torch.Generator().manual_seed(1))
