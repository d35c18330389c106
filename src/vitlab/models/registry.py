"""Names for blueprints: what people type, and what it stands for."""

import fnmatch
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from vitlab.errors import UserError, nearest
from vitlab.models import families
from vitlab.models.blueprint import Blueprint, Model

_KNOWN: dict[str, Callable[[], Blueprint]] = {}


def register(name: str, make: Callable[[], Blueprint]) -> None:
    """Give a blueprint its name. A family does this when imported; so may anyone."""
    _KNOWN[name] = make


def models(pattern: str = "*") -> list[str]:
    """Names of the known models, all or those like `swin*`, in the order of their families."""
    _load_families()
    return [name for name in _KNOWN if fnmatch.fnmatch(name, pattern)]


def blueprint(name: str) -> Blueprint:
    """The description of a known model, to read, change and build."""
    _load_families()
    if name not in _KNOWN:
        raise UserError(f"no model {name!r}{nearest(name, _KNOWN) or '; `vitlab models` lists them'}")
    return _KNOWN[name]().change(name=name)


def create(
    model: str | Blueprint,
    *,
    classes: int | None = None,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
) -> Model:
    """A model as a torch.nn.Module with fresh weights, for this many classes, this image size, these channels."""
    described = blueprint(model) if isinstance(model, str) else model
    asked: dict[str, Any] = {"classes": classes, "image": size, "channels": channels}
    return described.change(**{field: value for field, value in asked.items() if value is not None}).build()


def _load_families() -> None:
    for family in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{family.name}")
