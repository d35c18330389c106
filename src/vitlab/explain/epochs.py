"""How attention and probes came about: a few figures for each layer at the end of each epoch, in `watched.csv`.

Thirty-two images are looked at and a few hundred compared, which takes a moment beside an epoch. Nothing of the
training changes: no random number is drawn, and the model is put back as it was. `gradient` is the norm of the gradient
of the layer's block in the last step.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from vitlab.data.feed.feed import Feed
from vitlab.data.memory import Pictures
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.explain.anatomy.heads import heads
from vitlab.explain.anatomy.probes import neighbours, vectors
from vitlab.explain.choose import sample
from vitlab.explain.methods.method import Images
from vitlab.explain.record import attention_layers
from vitlab.files import saying_why
from vitlab.models.blueprint import Model

FILE = "watched.csv"
_LOOKED_AT, _KNOWN, _HELD, _BATCH = 32, 512, 256, 64
_LARGEST = 64 * 2**20


class Row(BaseModel):
    """One layer at the end of one epoch."""

    model_config = ConfigDict(frozen=True)

    epoch: int
    layer: int
    distance: float  # pixels, the mean of heads
    entropy: float | None  # bits
    prefix: float
    neighbours: float  # share of validation images named rightly
    gradient: float


class Watch:
    """Called with the model at the end of each epoch."""

    def __init__(self, path: Path, train: Feed, val: Feed, preprocess: Preprocess) -> None:
        self.path, self.preprocess = path, preprocess
        self.known, self.held = sample(train, _KNOWN, preprocess), sample(val, _HELD, preprocess)

    def __call__(self, model: Model, epoch: int) -> None:
        """Look, and add a row for each layer."""
        found = rows(model, epoch, self.known, self.held, self.preprocess)
        new = not self.path.exists()
        with saying_why(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(Row.model_fields)
            writer.writerows(
                [f"{value:.6g}" if isinstance(value, float) else value for value in row.model_dump().values()]
                for row in found
            )


def rows(model: Model, epoch: int, known: Pictures, held: Pictures, preprocess: Preprocess) -> list[Row]:
    """The figures of each layer; none for a model without attention."""
    places = attention_layers(model)
    if not places:
        return []
    device = next(model.parameters()).device

    def batches(images: Tensor) -> Iterator[Images]:
        for part in images.split(_BATCH):
            yield preprocess.normalise(part.to(device))

    looked = heads(model, batches(held.images[:_LOOKED_AT]))
    pairs = zip(vectors(model, batches(known.images)), vectors(model, batches(held.images)), strict=True)
    right = [neighbours(*each, known.labels, held.labels) for each in pairs]
    found = []
    for place in places:
        of = [head for head in looked if head.layer == place.layer]
        bits = [head.entropy for head in of if head.entropy is not None]
        gradients = [p.grad.float().square().sum() for p in place.block.parameters() if p.grad is not None]
        found.append(
            Row(
                epoch=epoch,
                layer=place.layer,
                distance=sum(head.distance for head in of) / len(of),
                entropy=sum(bits) / len(bits) if bits else None,
                prefix=sum(head.prefix for head in of) / len(of),
                neighbours=right[place.layer],
                gradient=float(torch.stack(gradients).sum().sqrt()) if gradients else 0.0,
            )
        )
    return found


def read(path: Path) -> list[Row]:
    """What a run wrote; one sentence where it wrote nothing or the file is broken."""
    if not path.is_file():
        raise UserError("the training was not watched; `vitlab train --watch` writes down each epoch")
    if path.stat().st_size > _LARGEST:
        raise UserError(f"{path} is larger than any run makes it")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            found = [
                Row.model_validate({**line, "entropy": line.get("entropy") or None}) for line in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError, csv.Error, ValidationError) as error:
        raise UserError(f"{path} cannot be read ({str(error).splitlines()[0]})") from None
    found = list({(row.epoch, row.layer): row for row in found}.values())  # a resumed run goes through an epoch again
    if not found:
        raise UserError(f"{path} holds no epoch yet")
    return found
