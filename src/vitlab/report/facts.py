"""Everything the page says about a run, read from its folder and checked.

Only `config.yaml` must be there, since without the exact command nothing can be made again. The other files
appear as a run goes on, and what is missing is None (or empty) here and a sentence on the page.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from vitlab.errors import UserError
from vitlab.report.checked import check, read_json
from vitlab.report.curves import Epoch, read_curves
from vitlab.report.evaluation import Evaluation, read_evaluation
from vitlab.report.examples import Example, read_examples

# So many points make no curve yet: until then a run that goes on is shown step by step.
FEW_EPOCHS = 4


@dataclass(frozen=True)
class Plan:
    """What the run had decided before its first step: `config.yaml`."""

    command: str
    model: str | None = None
    seed: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    blueprint: dict[str, Any] = field(default_factory=dict)
    preprocess: dict[str, Any] = field(default_factory=dict)
    augment: list[dict[str, Any]] = field(default_factory=list)
    accumulate: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def images(self, part: str) -> int | None:
        """How many images a part of the data (train, val, test) has, when the plan says."""
        number = self.data.get(part)
        return number if isinstance(number, int) and number > 0 else None


@dataclass(frozen=True)
class Bundle:
    """What the finished model says of itself: `bundle/model.json`."""

    task: str | None = None
    preprocess: dict[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    metrics: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    created: str | None = None


@dataclass(frozen=True)
class Cost:
    """What the model takes: parameters, multiply-accumulates of one image, and the bytes of one training step."""

    parameters: int
    gmacs: float | None = None
    by_part: dict[str, int] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    batch: int | None = None
    precision: str | None = None


@dataclass(frozen=True)
class RunFacts:
    """A run as its folder tells it."""

    run: Path
    plan: Plan
    epochs: tuple[Epoch, ...] = ()
    steps: tuple[Epoch, ...] = ()  # of a run that goes on, while it has come to few epochs
    evaluation: Evaluation | None = None
    bundle: Bundle | None = None
    cost: Cost | None = None
    examples: tuple[Example, ...] = ()

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.run.resolve().name

    @property
    def model(self) -> str:
        """What the model is called."""
        return self.plan.model or "A model"

    @property
    def data(self) -> str:
        """What the data set is called."""
        return str(self.plan.data.get("name") or "unnamed images")

    @property
    def classes(self) -> int | None:
        """How many classes there are, from whichever file says so."""
        if self.evaluation:
            return len(self.evaluation.classes)
        if self.bundle and self.bundle.classes:
            return len(self.bundle.classes)
        planned = self.plan.data.get("classes")
        return planned if isinstance(planned, int) else len(planned) if isinstance(planned, list) else None

    @property
    def planned(self) -> int | None:
        """For how many epochs to train."""
        number = self.plan.recipe.get("epochs")
        return number if isinstance(number, int) else None

    @property
    def preprocess(self) -> dict[str, Any]:
        """What happens to an image before the model: as the bundle says, or else as it was planned."""
        return (self.bundle.preprocess if self.bundle else {}) or self.plan.preprocess

    @property
    def seconds(self) -> float | None:
        """How long training took. The log's `seconds` count from the start, and anew after each resume."""
        clock = [e.seconds for e in self.epochs if e.seconds is not None]
        before_resumes = sum(last for last, following in pairwise(clock) if following < last)
        return before_resumes + clock[-1] if clock else None

    @property
    def images_per_second(self) -> float | None:
        """Training speed: the median over epochs, since the first one warms up."""
        speeds = sorted(
            e.images_per_second
            for e in self.epochs
            if e.images_per_second is not None and math.isfinite(e.images_per_second)
        )
        return speeds[len(speeds) // 2] if speeds else None


def read(run: Path) -> RunFacts:
    """The facts of the run in this folder."""
    run = Path(run)
    if not run.is_dir():
        raise UserError(f"{run} is not a folder; give the folder of a run")
    return RunFacts(
        run=run,
        plan=_read_plan(run / "config.yaml"),
        epochs=read_curves(run / "metrics.csv"),
        evaluation=read_evaluation(run / "evaluation.json"),
        bundle=read_json(run / "bundle" / "model.json", Bundle, "a bundle's description"),
        examples=read_examples(run / "examples.json"),
        cost=read_json(run / "cost.json", Cost, "a model's cost"),
    )


def unfinished(facts: RunFacts) -> RunFacts:
    """The facts of a run that has not ended, with its curves as they are now: each step's while epochs are few."""
    log = facts.run / "metrics.csv"
    epochs = read_curves(log)
    steps = read_curves(log, by="step") if 0 < len(epochs) <= FEW_EPOCHS else ()
    # The row that closes an epoch has its mean; between the figures of single steps that would be a jump.
    steps = tuple(replace(s, train_loss=None, train_accuracy=None) if s.val_loss is not None else s for s in steps)
    return replace(facts, epochs=epochs, steps=steps, evaluation=None, examples=())


def _read_plan(path: Path) -> Plan:
    if not path.is_file():
        raise UserError(f"{path.parent} holds no config.yaml; is it the folder of a run?")
    try:
        found = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        line = getattr(getattr(problem, "problem_mark", None), "line", None)
        where = "" if line is None else f", line {line + 1}"
        raise UserError(f"{path}{where} is not YAML that can be read") from None
    if not isinstance(found, Mapping):
        raise UserError(f"{path} is not a plan: it should map names to values")
    # An entry left empty (`reasons:` with nothing below) says nothing; treat it as not there.
    given = {name: entry for name, entry in found.items() if entry is not None}
    return check(given, Plan, f"{path} is not a plan")
