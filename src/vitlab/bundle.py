"""A trained model that describes itself: a folder with `model.safetensors` and `model.json`.

The card (`model.json`) holds what anyone needs to use the weights: blueprint, preprocessing, class names in order,
metrics, the data's fingerprint, versions, the command. Loading runs no code from the file and checks sizes before it
takes memory; saving is whole or not at all.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, SerializeAsAny, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from vitlab.bundle_path import CARD, WEIGHTS, check_bundle
from vitlab.data.decode import Picture, decode
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError, explain_invalid
from vitlab.files import replacing
from vitlab.models import registry  # noqa: F401  blueprints of every family are known from here on
from vitlab.models.blueprint import Blueprint, Model

FORMAT = 1
_LARGEST_CARD = 64 * 2**20
_BATCH = 64


class Card(BaseModel):
    """What a bundle says of its weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    task: str = "classification"
    blueprint: SerializeAsAny[Blueprint]
    preprocess: Preprocess
    classes: tuple[str, ...]
    metrics: dict[str, float] = {}
    data: dict[str, Any] = {}
    versions: dict[str, str] = {}
    command: str = ""
    created: str = ""


@dataclass(frozen=True)
class Prediction:
    """The likeliest class, and every class with its probability, likeliest first."""

    label: str
    probability: float
    probabilities: dict[str, float]

    def __str__(self) -> str:
        return f"{self.label} ({self.probability:.1%})"


@dataclass(frozen=True)
class Bundle:
    """A model ready to use, with its card. `bundle.model` is an ordinary torch module in evaluation mode."""

    model: Model
    card: Card

    @property
    def classes(self) -> tuple[str, ...]:
        return self.card.classes

    def predict(self, images: str | Path | Picture | Iterable[str | Path | Picture]) -> list[Prediction]:
        """Labels with probabilities for paths, PIL images or uint8 arrays (rows, columns[, channels]), in batches."""
        found: list[Prediction] = []
        for batch in _in_batches(images):
            fitted = torch.stack([self.card.preprocess.fit(_picture(image)) for image in batch])
            found += [self._prediction(row) for row in self.probabilities(fitted)]
        return found

    @torch.inference_mode()
    def probabilities(self, images: Tensor) -> Tensor:
        """Class probabilities of uint8 images of the model's size and channels."""
        device = next(self.model.parameters()).device
        return self.model(self.card.preprocess.normalise(images.to(device))).float().softmax(dim=1).cpu()

    def save(self, path: str | Path) -> None:
        """Write the bundle's folder, whole or not at all."""
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.model.state_dict().items()}
        with replacing(Path(path)) as beside:
            beside.mkdir()
            save_file(state, beside / WEIGHTS, metadata={"format": "pt"})
            (beside / CARD).write_text(self.card.model_dump_json(indent=1) + "\n", encoding="utf-8")

    def _prediction(self, row: Tensor) -> Prediction:
        ranked = {self.classes[i]: float(row[i]) for i in row.argsort(descending=True).tolist()}
        label = next(iter(ranked))
        return Prediction(label, ranked[label], ranked)


def load(path: str | Path) -> Bundle:
    """The trained model in a run's folder or a bundle, ready to predict."""
    found = check_bundle(path)
    card = read_card(found / CARD)
    weights = found / WEIGHTS
    if not weights.is_file():
        raise UserError(f"{found} has no {WEIGHTS}: the bundle is not whole; copy or train it again")
    with torch.device("meta"):
        wanted = {name: tuple(tensor.shape) for name, tensor in card.blueprint.build().state_dict().items()}
    state = _read_weights(weights, wanted)
    with torch.random.fork_rng(devices=[]):  # first values that are overwritten at once shall not cost anyone a seed
        model = card.blueprint.build()
    model.load_state_dict(state)
    return Bundle(model.eval(), card)


def read_card(path: Path) -> Card:
    """The card, checked: format first, so that a newer one is called newer rather than wrong."""
    try:
        if path.stat().st_size > _LARGEST_CARD:
            raise UserError(f"{path} is larger than any card is ({_LARGEST_CARD >> 20} MiB); it is none of vitlab's")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is not whole JSON ({error}); copy the bundle again") from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise UserError(f"{path} has no format number; it is no card of vitlab's")
    if data["format"] > FORMAT:
        raise UserError(f"{path} has format {data['format']}, newer than {FORMAT}, which is read here; update vitlab")
    try:
        card = Card.model_validate(data)
    except ValidationError as error:
        raise explain_invalid(error, str(path)) from None
    if card.blueprint.classes != len(card.classes):
        raise UserError(f"{path}: {len(card.classes)} class names for a model of {card.blueprint.classes} classes")
    if card.blueprint.channels != card.preprocess.channels:
        raise UserError(
            f"{path}: the model takes {card.blueprint.channels} channels, preprocess gives {card.preprocess.channels}"
        )
    return card


def _read_weights(path: Path, wanted: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Tensors of exactly the names and shapes wanted; the header is compared before any of them is read."""
    with _whole(path), safe_open(path, framework="pt") as file:
        found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  not a dict
        if missing := sorted(wanted.keys() - found.keys()):
            raise UserError(f"{path} lacks {_some(missing)}: these weights are not of the model that {CARD} describes")
        if extra := sorted(found.keys() - wanted.keys()):
            raise UserError(
                f"{path} has {_some(extra)} too many: these weights are not of the model that {CARD} describes"
            )
        for name, shape in wanted.items():
            if found[name] != shape:
                raise UserError(f"{path}: {name} is {list(found[name])}, the model in {CARD} wants {list(shape)}")
        return {name: file.get_tensor(name) for name in wanted}


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except SafetensorError as error:
        raise UserError(f"{path} is truncated or no safetensors file ({error}); copy or train it again") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _picture(image: str | Path | Picture) -> Picture:
    return decode(Path(image)) if isinstance(image, str | Path) else image


def _in_batches(images: Any) -> Iterator[list[Any]]:
    """Any number of images, or one, in lists of at most `_BATCH`."""
    single = isinstance(images, str | Path) or hasattr(images, "mode") or (hasattr(images, "dtype") and images.ndim < 4)
    batch: list[Any] = []
    for image in [images] if single else images:
        batch.append(image)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
