"""What `evaluation.json` holds, checked, and what follows from it: accuracy of each class and confused pairs.

The confusion matrix has a row for each true class and a column for each answer. Everything the page says
about errors is computed from it, so that no two places of the page can disagree.
"""

from dataclasses import dataclass
from pathlib import Path

from vitlab.analysis.interval import wilson
from vitlab.errors import UserError
from vitlab.report.checked import read_json
from vitlab.report.picture import Picture, picture


@dataclass(frozen=True)
class Mistake:
    """An image the model got wrong, with what it said and how sure it was. Classes are positions in `classes`."""

    where: str
    truth: int
    predicted: int
    probability: float
    truth_probability: float | None = None
    png: str = ""


@dataclass(frozen=True)
class ClassResult:
    """One class: how many images are of it, how many were found, how many answers named it."""

    name: str
    images: int
    right: int
    answers: int
    interval: tuple[float, float]

    @property
    def accuracy(self) -> float | None:
        """Share of this class's images that were called by its name (recall); None without images."""
        return self.right / self.images if self.images else None

    @property
    def precision(self) -> float | None:
        """Share of the answers naming this class that were right; None when nothing was called so."""
        return self.right / self.answers if self.answers else None


@dataclass(frozen=True)
class Confusion:
    """Images of one class that were called by the name of another."""

    truth: str
    predicted: str
    images: int
    share: float


@dataclass(frozen=True)
class Evaluation:
    """The figures of one evaluation."""

    split: str
    images: int
    accuracy: float
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    interval: tuple[float, float] | None = None
    loss: float | None = None
    calibration_error: float | None = None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def errors(self) -> int:
        """How many images got a wrong answer."""
        return self.images - sum(row[k] for k, row in enumerate(self.confusion))

    def by_class(self) -> list[ClassResult]:
        """Every class, the least accurate first; classes without images last."""
        answers = [sum(column) for column in zip(*self.confusion, strict=True)]
        results = [
            ClassResult(name, sum(row), row[k], answers[k], wilson(row[k], sum(row)))
            for k, (name, row) in enumerate(zip(self.classes, self.confusion, strict=True))
        ]
        return sorted(results, key=lambda r: (r.accuracy is None, r.accuracy or 0.0, -r.images))

    def confused(self, limit: int) -> list[Confusion]:
        """The pairs mixed up most often, by number of images, then by share of the true class."""
        pairs = [
            Confusion(self.classes[i], self.classes[j], images, images / sum(row))
            for i, row in enumerate(self.confusion)
            for j, images in enumerate(row)
            if images and i != j
        ]
        return sorted(pairs, key=lambda p: (-p.images, -p.share))[:limit]

    def pictures(self) -> list[tuple[Mistake, Picture | None]]:
        """The mistakes with their images, where an image was kept."""
        return [(mistake, picture(mistake.png) if mistake.png else None) for mistake in self.mistakes]


def read_evaluation(path: Path) -> Evaluation | None:
    """The evaluation, or None when the run has none yet."""
    found = read_json(path, Evaluation, "an evaluation")
    if found and (wrong := _contradiction(found)):
        raise UserError(f"{path} contradicts itself: {wrong}")
    return found


def _contradiction(found: Evaluation) -> str | None:
    """What cannot be true of these figures together, as the end of a sentence."""
    size = len(found.classes)
    if len(found.confusion) != size:
        return f"its confusion matrix has {len(found.confusion)} rows for {size} classes"
    for k, row in enumerate(found.confusion):
        if len(row) != size:
            return f"its confusion matrix is not square (row {k} has {len(row)} columns, there are {size} classes)"
        if any(cell < 0 for cell in row):
            return f"row {k} of its confusion matrix has a negative count"
    if (counted := sum(map(sum, found.confusion))) != found.images:
        return f"its confusion matrix counts {counted} images and `images` says {found.images}"
    if not 0 <= found.accuracy <= 1:
        return f"its accuracy is {found.accuracy}, which is no share of one"
    for k, mistake in enumerate(found.mistakes):
        if not (0 <= mistake.truth < size and 0 <= mistake.predicted < size):
            return f"mistake {k} names a class beyond the {size} there are"
        if mistake.png and picture(mistake.png) is None:
            return f"mistake {k} (`{mistake.where}`) holds no readable PNG"
    return None
