"""A model by name, with fresh weights or with those of any source."""

from pathlib import Path

import torch

from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint, Model
from vitlab.models.plain import Plain
from vitlab.weights.fit import refit
from vitlab.weights.load import load
from vitlab.weights.say import Say, tell


def create(
    model: str | Blueprint,
    *,
    classes: int | None = None,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    weights: str | Path | None = None,
    say: Say = tell,
) -> Model:
    """A model as a torch.nn.Module, for this many classes, this image size, these channels.

    Its weights are fresh, or those of `weights`, which is any source that `load` knows and is made to fit: the classes
    are then the source's own unless `classes` says otherwise, and each change is told to `say`.
    """
    if weights is None:
        return registry.create(model, classes=classes, size=size, channels=channels)
    described = registry.blueprint(model) if isinstance(model, str) else model
    like = described if isinstance(described, Plain) and Path(weights).is_file() else None
    found = load(weights, model=like, say=say)
    names = found.classes if classes in (None, len(found.classes)) else tuple(map(str, range(classes or 0)))
    asked = {"image": size or described.image, "channels": channels or described.channels, "classes": len(names)}
    kept = {field: getattr(described, field) for field in described.regularisers}
    target = found.card.blueprint.change(**asked, **kept)
    if _shapes(target) != _shapes(described.change(**asked)):
        raise UserError(f"{weights} holds weights of {found.card.blueprint.name}, not of {described.name}")
    return refit(found, target, names, say).model


def _shapes(blueprint: Blueprint) -> dict[str, torch.Size]:
    with torch.device("meta"):
        return {name: tensor.shape for name, tensor in blueprint.build().state_dict().items()}
