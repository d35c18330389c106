"""How often a bundle is right: accuracy with its interval, confused classes, calibration, worst mistakes."""

import base64
import io

import torch
from PIL import Image
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch.nn import functional

from vitlab.analysis.interval import wilson
from vitlab.bundle import Bundle
from vitlab.data.feed.feed import Feed

_BATCH = 256
_MISTAKES = 24
_THUMBNAIL = 96
_BINS = 15


class Mistake(BaseModel):
    """One wrong prediction, with the picture."""

    model_config = ConfigDict(frozen=True)

    where: str
    truth: int
    predicted: int
    probability: float
    truth_probability: float
    png: str


class Evaluation(BaseModel):
    """What was found on one split. Rows of the confusion are the truth, columns what was predicted."""

    model_config = ConfigDict(frozen=True)

    split: str
    mirrored: bool = False  # whether each answer is the mean of those for the picture and for its mirror image
    images: int
    accuracy: float
    interval: tuple[float, float]
    loss: float
    calibration_error: float
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    mistakes: tuple[Mistake, ...]

    @property
    def errors(self) -> int:
        return self.images - sum(row[i] for i, row in enumerate(self.confusion))

    def to_json(self) -> str:
        """What scripts read: all but the pictures."""
        return self.model_dump_json(exclude={"mistakes": {"__all__": {"png"}}})

    def __str__(self) -> str:
        low, high = self.interval
        errors = "1 error" if self.errors == 1 else f"{self.errors} errors"
        mirrored = ", mirror images averaged" if self.mirrored else ""
        return (
            f"{self.accuracy:.2%} of {self.images} {self.split} images right ({errors}{mirrored}; "
            f"95 % interval {low:.1%} to {high:.1%}), "
            f"loss {self.loss:.4f}, calibration error {self.calibration_error:.3f}"
        )


def evaluate(bundle: Bundle, pictures: Feed, split: str, mirrored: bool = False) -> Evaluation:
    """Predict every picture of a split and count; `mirrored` averages each answer with that for the mirror image."""
    parts, seen = [], []
    for images, positions in pictures.batches(_BATCH):
        found = bundle.probabilities(images)
        parts.append((found + bundle.probabilities(images.flip(3))) / 2 if mirrored else found)
        seen.append(positions)
    probabilities, where = torch.cat(parts), torch.cat(seen)
    sure, predicted = probabilities.max(dim=1)
    truth, classes = pictures.labels[where], len(bundle.classes)
    right = predicted == truth
    confusion = torch.bincount(truth * classes + predicted, minlength=classes * classes).view(classes, classes)
    return Evaluation(
        split=split,
        mirrored=mirrored,
        images=len(truth),
        accuracy=float(right.double().mean()),
        interval=wilson(int(right.sum()), len(truth)),
        loss=float(functional.nll_loss(probabilities.double().clamp_min(1e-12).log(), truth)),
        calibration_error=calibration_error(sure, right),
        classes=bundle.classes,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        mistakes=_mistakes(pictures, where, probabilities, predicted),
    )


def calibration_error(sure: Tensor, right: Tensor, bins: int = _BINS) -> float:
    """Expected calibration error (Guo et al. 2017, eq. 3): sum over bins of n_b / n |accuracy_b - confidence_b|."""
    place = (sure * bins).ceil().long().clamp(1, bins) - 1
    gap = torch.zeros(bins, dtype=torch.float64).index_add_(0, place, right.double() - sure.double())
    return float(gap.abs().sum() / len(sure))


def _mistakes(pictures: Feed, where: Tensor, probabilities: Tensor, predicted: Tensor) -> tuple[Mistake, ...]:
    """The most confident ones first; `where` says of which picture each row is."""
    truth = pictures.labels[where]
    wrong = (predicted != truth).nonzero().flatten()
    wrong = wrong[probabilities[wrong, predicted[wrong]].argsort(descending=True)][:_MISTAKES]
    return tuple(
        Mistake(
            where=pictures.keys[int(where[i])],
            truth=int(truth[i]),
            predicted=int(predicted[i]),
            probability=float(probabilities[i, predicted[i]]),
            truth_probability=float(probabilities[i, truth[i]]),
            png=_png(pictures.image(int(where[i]))),
        )
        for i in wrong.tolist()
    )


def _png(image: Tensor) -> str:
    """A picture small enough for a page; of many channels the first is shown."""
    pixels = image.permute(1, 2, 0).numpy() if len(image) == 3 else image[0].numpy()
    picture = Image.fromarray(pixels)
    picture.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()
