"""A trained model that describes itself: a folder with `model.safetensors` and `model.json`.

The card (`model.json`) holds what anyone needs to use the weights: blueprint, preprocessing, class names in order,
metrics, the data's fingerprint, versions, the command. Loading runs no code from the file and checks sizes before it
takes memory; saving is whole or not at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from pydantic import BaseModel, ConfigDict, SerializeAsAny, model_validator
from safetensors.torch import save_file
from torch import Tensor

from vitlab import notebook
from vitlab.bundle_path import CARD, WEIGHTS, check_bundle
from vitlab.data.available import too_much
from vitlab.data.decode import Picture, decode
from vitlab.data.listing import is_one
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.files import replacing, system_errors
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint, Model
from vitlab.strangers import read_json, safetensors, sensible, shapes, some

FORMAT = 1
_LARGEST_TABLES = 2**29  # bytes; computing them takes several times as much
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

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        model, given = self.blueprint, self.preprocess
        if model.classes != len(self.classes):
            raise UserError(f"{len(self.classes)} class names for a model of {model.classes} classes")
        if len(set(self.classes)) != len(self.classes):
            raise UserError("a class name stands there twice")
        if model.channels != given.channels:
            raise UserError(f"the model takes {model.channels} channels, preprocess gives {given.channels}")
        if model.image != given.size:
            sizes = [f"{rows}x{columns}" for rows, columns in (model.image, given.size)]
            raise UserError(f"the model takes images of {sizes[0]}, preprocess gives {sizes[1]}")
        return self


@dataclass(frozen=True)
class Prediction:
    """The likeliest class, and every class with its probability, likeliest first."""

    label: str
    probability: float
    probabilities: dict[str, float]

    def __str__(self) -> str:
        return f"{self.label} ({self.probability:.1%})"

    def _repr_html_(self) -> str:
        return notebook.bars(str(self), list(self.probabilities.items())[:5])


@dataclass(frozen=True)
class Bundle:
    """A model ready to use, with its card. `bundle.model` is an ordinary torch module in evaluation mode."""

    model: Model
    card: Card

    @property
    def classes(self) -> tuple[str, ...]:
        return self.card.classes

    def _repr_html_(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        size, channels = self.card.preprocess.size, self.card.preprocess.channels
        rows = {
            "model": f"{self.card.blueprint.name}, {parameters:,} parameters",
            "images": f"{size[0]}x{size[1]}, {channels} channels",
            "classes": some(self.classes),
            **{name: f"{value:.4g}" for name, value in self.card.metrics.items()},
            "made by": self.card.command,
        }
        return notebook.table(f"bundle of {self.card.blueprint.name}", rows.items())

    def predict(self, images: str | Path | Picture | Iterable[str | Path | Picture]) -> list[Prediction]:
        """Labels with probabilities for paths, PIL images or uint8 arrays (rows, columns[, channels]), in batches."""
        found: list[Prediction] = []
        for batch in _in_batches(images):
            fitted = torch.stack([self.card.preprocess.fit(_picture(image)) for image in batch])
            found += [self.prediction(row) for row in self.probabilities(fitted)]
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
            with system_errors():
                save_file(state, beside / WEIGHTS, metadata={"format": "pt"})
            (beside / CARD).write_text(self.card.model_dump_json(indent=1) + "\n", encoding="utf-8")

    def prediction(self, row: Tensor) -> Prediction:
        """Probabilities of one image, ranked and named."""
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
    empty = sketch(card, found / CARD)
    state = _read_weights(weights, empty.state_dict())
    return assemble(card, state, empty, found / CARD)


def sketch(card: Card, where: Path) -> Model:
    """The card's model without memory: names and shapes of its weights."""
    with sensible(where), torch.device("meta"):
        return card.blueprint.build()


def assemble(card: Card, state: dict[str, Tensor], empty: Model, where: Path | str) -> Bundle:
    """The card's model with these weights; `empty` is its sketch."""
    check_memory(empty, where)
    # First values that are overwritten at once shall not cost anyone a seed.
    with sensible(where), torch.random.fork_rng(devices=[]):
        model = card.blueprint.build()
    model.load_state_dict(state)
    return Bundle(model.eval(), card)


def check_memory(empty: Model, path: Path | str) -> None:
    """Refuse what the header of the weights cannot show: tables computed when the model is built, and sheer size."""
    stored = {id(tensor) for tensor in empty.state_dict(keep_vars=True).values()}
    tables = sum(tensor.nbytes for tensor in empty.buffers() if id(tensor) not in stored)
    if tables > _LARGEST_TABLES:
        raise UserError(
            f"{path} describes {tables / 2**30:,.1f} GiB of positions and masks; "
            f"more than {_LARGEST_TABLES / 2**30:g} are not computed for a bundle"
        )
    if need := too_much(tables + sum(tensor.nbytes for tensor in empty.state_dict().values())):
        raise UserError(f"{path}: the model needs {need}")


def read_card(path: Path) -> Card:
    """The card, checked: format first, so that a newer one is called newer rather than wrong."""
    data = read_json(path, "card of vitlab's", "copy the bundle again")
    registry.models()  # a blueprint's kind is known once its family is
    if not isinstance(data, dict) or type(data.get("format")) is not int:
        raise UserError(f"{path} has no format number; it is no card of vitlab's")
    if data["format"] > FORMAT:
        raise UserError(f"{path} has format {data['format']}, newer than {FORMAT}, which is read here; update vitlab")
    if data["format"] < 1:
        raise UserError(f"{path} has format {data['format']}, which never was; it is no card of vitlab's")
    with sensible(path):
        return Card.model_validate(data)


def _read_weights(path: Path, wanted: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of exactly the names and shapes wanted; the header is compared before any of them is read."""
    with safetensors(path, "copy or train it again") as file:
        found = shapes(file)
        if missing := sorted(wanted.keys() - found.keys()):
            raise UserError(f"{path} lacks {some(missing)}: these weights are not of the model that {CARD} describes")
        if extra := sorted(found.keys() - wanted.keys()):
            raise UserError(
                f"{path} has {some(extra)} too many: these weights are not of the model that {CARD} describes"
            )
        for name, like in wanted.items():
            if found[name] != tuple(like.shape):
                raise UserError(f"{path}: {name} is {list(found[name])}, the model in {CARD} wants {list(like.shape)}")
        state = {name: file.get_tensor(name) for name in wanted}
    for name, like in wanted.items():
        if state[name].is_floating_point() != like.is_floating_point():
            raise UserError(f"{path}: {name} holds {state[name].dtype}, the model in {CARD} wants {like.dtype}")
    return state


def _picture(image: str | Path | Picture) -> Picture:
    return decode(Path(image)) if isinstance(image, str | Path) else image


def _in_batches(images: Any) -> Iterator[list[Any]]:
    """Any number of images, or one, in lists of at most `_BATCH`."""
    batch: list[Any] = []
    for image in [images] if is_one(images) else images:
        batch.append(image)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
