"""Any source of weights as a bundle: a run, a bundle, another library's file or folder, a name on the hub."""

from collections.abc import Sequence
from pathlib import Path

from vitlab import bundle
from vitlab.bundle import Bundle
from vitlab.bundle_path import CARD, check_bundle
from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.weights import hub
from vitlab.weights.fit import Wanted, fit
from vitlab.weights.foreign import CONFIG, open_foreign_file, open_foreign_folder
from vitlab.weights.say import Say, tell
from vitlab.weights.source import check_source, full_name


def load(
    source: str | Path,
    *,
    model: str | Blueprint | None = None,
    size: int | tuple[int, int] | None = None,
    patch: int | tuple[int, int] | None = None,
    channels: int | None = None,
    classes: int | Sequence[str] | None = None,
    pool: str | None = None,
    say: Say = tell,
) -> Bundle:
    """A trained model, ready to predict or to train further.

    `source` is a run's folder, a bundle, a file or folder of timm, transformers, torchvision or the original Flax
    code, a name on the hub (`timm:...`, `hf:...`) or one of `vitlab models --pretrained`. `model` says what a bare
    file is a model of, where its shapes do not. The others fit the weights to another image size, patch size, number
    of channels, classes (a number, or names, of which those known keep their rows) or pool; each change is told to
    `say`.
    """
    found = _open(str(source), _plain(model), say)
    return fit(found, Wanted(size=size, patch=patch, channels=channels, classes=classes, pool=pool), say)


def _open(source: str, like: Plain | None, say: Say) -> Bundle:
    path = Path(source)
    check_source(source, told=like is not None)
    if path.is_dir():
        if not any((folder / CARD).is_file() for folder in (path, path / "bundle")) and (path / CONFIG).is_file():
            return open_foreign_folder(path, source, say)
        return bundle.load(check_bundle(path))
    if path.exists():
        return open_foreign_file(path, like, source, say)
    return hub.open_name(full_name(source), say)


def _plain(model: str | Blueprint | None) -> Plain | None:
    if model is None:
        return None
    described = registry.blueprint(model) if isinstance(model, str) else model
    if not isinstance(described, Plain):
        raise UserError(f"{described.name} is no plain Vision Transformer, of which alone a file may be said to be")
    return described
