"""vitlab: a laboratory for Vision Transformers. Build, train, see, compare and ship them, with one command each.

The names below are imported when first used, so that `import vitlab` costs nothing.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vitlab.bundle import Bundle as Bundle
    from vitlab.commands.check import check as check
    from vitlab.commands.convert import convert as convert
    from vitlab.commands.evaluate import evaluate as evaluate
    from vitlab.commands.explain import explain as explain
    from vitlab.commands.predict import predict as predict
    from vitlab.commands.profile import profile as profile
    from vitlab.commands.report import report as report
    from vitlab.commands.train import train as train
    from vitlab.errors import UserError as UserError
    from vitlab.models.blueprint import Blueprint as Blueprint
    from vitlab.models.registry import blueprint as blueprint
    from vitlab.models.registry import models as models
    from vitlab.models.registry import register as register
    from vitlab.weights.create import create as create
    from vitlab.weights.load import load as load

__version__ = "0.1.0"

_WHERE = {
    "Blueprint": "vitlab.models.blueprint",
    "Bundle": "vitlab.bundle",
    "UserError": "vitlab.errors",
    "blueprint": "vitlab.models.registry",
    "check": "vitlab.commands.check",
    "convert": "vitlab.commands.convert",
    "create": "vitlab.weights.create",
    "evaluate": "vitlab.commands.evaluate",
    "explain": "vitlab.commands.explain",
    "load": "vitlab.weights.load",
    "models": "vitlab.models.registry",
    "predict": "vitlab.commands.predict",
    "profile": "vitlab.commands.profile",
    "register": "vitlab.models.registry",
    "report": "vitlab.commands.report",
    "train": "vitlab.commands.train",
}

__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"vitlab has no {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps `vitlab.models`, `vitlab.explain` and `vitlab.report` the functions they are.

    Importing the rooms of the same names would otherwise put the rooms in their place.
    `from vitlab.models.registry import ...` finds the rooms all the same.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
