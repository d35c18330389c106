"""Which explanation to believe: cover the places that a method ranks first, and see whether the model notices.

Deletion: places are covered with the mean colour of the training images, the most important first; the sooner the
probability of the class falls, the better the ranking. Insertion: they are uncovered on a blurred image; the sooner it
rises, the better (Petsiuk et al. 2018, RISE). A score is the area under the curve of probability against the share of
places, 0 to 1: low is good for deletion, high for insertion. What counts is how much better a method is than a ranking
by lot of the same images: gain = (insertion - deletion) - (that of random), image by image, with an interval by
bootstrap over images. A method whose interval includes zero says no more about this model than chance does.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch.nn import functional

from vitlab.bundle import Bundle
from vitlab.errors import UserError
from vitlab.explain.cells import by_cell, cells, enlarged
from vitlab.explain.methods.known import RANDOM
from vitlab.explain.methods.method import Heat, Images, Method, Targets
from vitlab.explain.record import evaluating
from vitlab.models.blueprint import Model

STEPS = 16  # shares of places at which the probability is read, and none
_BATCH = 32
_RESAMPLED = 2000
_BLUR = 8  # the blurred image has the detail of one this many times smaller


class Figure(BaseModel):
    """A mean over images with its 95 % interval by bootstrap."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Score(BaseModel):
    """One method on all images."""

    model_config = ConfigDict(frozen=True)

    method: str
    deletion: Figure
    insertion: Figure
    gain: Figure  # over a ranking by lot
    deleted: tuple[float, ...]  # the mean curves, from no place to all
    inserted: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """What the gain says."""
        if self.method == RANDOM.name:
            return "the baseline"
        return "better than chance" if self.gain.low > 0 else "worse than chance" if self.gain.high < 0 else "chance"


class Fidelity(BaseModel):
    """Every method, the one to believe first. `refused` says why a method has no ranking for this model."""

    model_config = ConfigDict(frozen=True)

    images: int
    places: tuple[int, int]
    scores: tuple[Score, ...]
    refused: dict[str, str]

    def to_json(self) -> str:
        """What scripts read."""
        return self.model_dump_json()

    def __str__(self) -> str:
        lines = [
            f"{self.images} images, {self.places[0]}x{self.places[1]} places, 95 % intervals by bootstrap over images; "
            "deletion: lower is better, insertion: higher",
            "",
            f"{'method':22} {'deletion':>22} {'insertion':>22} {'gain over random':>24}",
        ]
        for score in self.scores:
            gain = "" if score.method == RANDOM.name else str(score.gain)
            lines.append(
                f"{score.method:22} {score.deletion!s:>22} {score.insertion!s:>22} {gain:>24}  {score.verdict}"
            )
        lines += [f"no {name}: {why}" for name, why in self.refused.items()]
        best = self.scores[0]
        believed = best.verdict == "better than chance"
        lines += [
            "",
            f"believe {best.method} most" if believed else "none of these is better than chance; believe none",
        ]
        return "\n".join(lines)


def fidelity(
    bundle: Bundle,
    images: UInt8[Tensor, "count channels X Y"],
    methods: Sequence[Method],
    tell: Callable[[str], None] = lambda _: None,
) -> Fidelity:
    """Score the methods on images, each for the class that the model names; `tell` hears what is being done."""
    model, preprocess = bundle.model, bundle.card.preprocess
    device = next(model.parameters()).device
    normalised = preprocess.normalise(images.to(device))
    grid = cells(model, normalised)
    with evaluating(model), torch.no_grad():
        targets = torch.cat([model(part).argmax(dim=1) for part in normalised.split(_BATCH)])
    found: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    refused: dict[str, str] = {}
    for method in (RANDOM, *methods):
        tell(method.name)
        try:
            heat = torch.cat(
                [
                    by_cell(method.explain(model, part, of), grid)
                    for part, of in zip(normalised.split(_BATCH), targets.split(_BATCH), strict=True)
                ]
            )
        except UserError as error:
            refused[method.name] = str(error)
            continue
        ranks = ranking(heat)
        found[method.name] = (
            curves(model, normalised, targets, ranks, inserting=False),
            curves(model, normalised, targets, ranks, inserting=True),
        )
    scores = [_score(name, *drawn, *found[RANDOM.name]) for name, drawn in found.items()]
    scores.sort(key=lambda score: score.gain.value, reverse=True)
    return Fidelity(images=len(images), places=grid, scores=tuple(scores), refused=refused)


def ranking(heat: Heat) -> Int64[Tensor, "B rows columns"]:
    """The rank of each place, 0 for the most important; places of equal value are ranked by lot, the same each time."""
    flat = heat.flatten(1)
    lot = torch.randperm(flat.shape[1], generator=torch.Generator().manual_seed(0)).to(flat.device)
    order = lot[flat[:, lot].argsort(dim=1, descending=True, stable=True)]
    return order.argsort(dim=1).view(heat.shape)


@torch.no_grad()
def curves(
    model: Model, images: Images, targets: Targets, ranks: Int64[Tensor, "B rows columns"], *, inserting: bool
) -> NDArray[np.float64]:
    """(images, STEPS + 1): the class's probability with more and more places covered, or uncovered."""
    places = ranks.shape[1] * ranks.shape[2]
    found = []
    with evaluating(model):
        for part, of, order in zip(images.split(_BATCH), targets.split(_BATCH), ranks.split(_BATCH), strict=True):
            first, then = (blurred(part), part) if inserting else (part, torch.zeros_like(part))
            reached = []
            for step in range(STEPS + 1):
                taken = enlarged((order < round(step * places / STEPS)).float(), part)[:, None]
                shares = model(first * (1 - taken) + then * taken).softmax(dim=1)
                reached.append(shares.gather(1, of[:, None])[:, 0])
            found.append(torch.stack(reached, dim=1))
    return torch.cat(found).double().cpu().numpy()


def blurred(images: Images) -> Float[Tensor, "B channels X Y"]:
    """Images without their detail."""
    small = tuple(max(side // _BLUR, 1) for side in images.shape[2:])
    coarse = functional.interpolate(images, size=small, mode="bilinear", antialias=True, align_corners=False)
    return functional.interpolate(coarse, size=images.shape[2:], mode="bicubic", align_corners=False)


def area(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """The area under each curve, by trapezoids."""
    return (drawn[:, 1:] + drawn[:, :-1]).mean(axis=1) / 2


def interval(values: NDArray[np.float64]) -> Figure:
    """The mean with the middle 95 % of the means of images drawn anew, the same draws each time."""
    drawn = np.random.default_rng(0).integers(0, len(values), (_RESAMPLED, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return Figure(value=float(values.mean()), low=float(low), high=float(high))


def _score(
    name: str,
    deleted: NDArray[np.float64],
    inserted: NDArray[np.float64],
    deleted_by_lot: NDArray[np.float64],
    inserted_by_lot: NDArray[np.float64],
) -> Score:
    deletion, insertion = area(deleted), area(inserted)
    gain = (insertion - deletion) - (area(inserted_by_lot) - area(deleted_by_lot))
    return Score(
        method=name,
        deletion=interval(deletion),
        insertion=interval(insertion),
        gain=interval(gain),
        deleted=tuple(deleted.mean(axis=0).tolist()),
        inserted=tuple(inserted.mean(axis=0).tolist()),
    )
