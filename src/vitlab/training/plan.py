"""The plan: everything a run decides by looking, resolved once, recorded, and replayed.

It is printed with its reasons before the first step, written to the run's `config.yaml`, and read back by whoever
repeats the run: with the same plan, machine kind, versions and number of threads, a run repeats bit for bit.
"""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, SerializeAsAny, ValidationError

from vitlab.data.augment.step import Step
from vitlab.data.feed.feeding import Feeding
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError, explain_invalid
from vitlab.models.blueprint import Blueprint
from vitlab.training.recipe import Recipe


class LeftOut(BaseModel):
    """The list of files that a run leaves out, and how many of them the data had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    digest: str
    images: int


class DataFacts(BaseModel):
    """Which data a run was planned for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    root: str | None = None
    quarantine: LeftOut | None = None
    name: str
    fingerprint: str
    classes: tuple[str, ...]
    train: int
    val: int
    test: int


class Source(BaseModel):
    """A trained model that a run needs: where it was, and how to know it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    revision: str | None = None  # of a name on the hub: the commit that was fetched, which stays in the cache
    digest: str
    model: str
    named: bool | None = None  # whether its classes had names: those of ImageNet come from the hub, or do not


class Teaching(Source):
    """The model that teaches."""

    remembered: bool  # its answers are computed once, before the first step


class Machine(BaseModel):
    """On what, and with which arithmetic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str
    threads: int
    precision: str
    kernels: dict[str, str]
    compile: bool
    devices: int = 1  # processes on each machine, one for each device
    nodes: int = 1  # machines
    strategy: Literal["ddp", "fsdp"] = "ddp"
    images_per_second: float | None = None  # there and back, as measured for this plan
    peak_gflops: float | None = None  # of products of matrices, in 10^9 operations a second
    versions: dict[str, str]

    @property
    def world(self) -> int:
        """Processes that train together."""
        return self.devices * self.nodes


class Plan(BaseModel):
    """What one run has resolved."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    seed: int
    model: str
    data: DataFacts
    blueprint: SerializeAsAny[Blueprint]
    preprocess: Preprocess
    feeding: Feeding = Feeding()
    recipe: Recipe
    augment: tuple[Step, ...]
    accumulate: int
    machine: Machine
    start: Source | None = None  # whose weights the model begins with
    teacher: Teaching | None = None
    reasons: dict[str, str]

    @property
    def micro_batch(self) -> int:
        """Images a forward pass of one process."""
        return min(self.recipe.batch, self.data.train) // (self.accumulate * self.machine.world)

    @property
    def steps(self) -> int:
        """Steps of the optimizer in the whole run."""
        return self.batches // self.accumulate * self.recipe.epochs

    @property
    def batches(self) -> int:
        """Forward passes of an epoch: those of whole steps alone, so that every step counts as many images."""
        whole = self.micro_batch * self.accumulate * self.machine.world
        return self.data.train // whole * self.accumulate

    def to_yaml(self) -> str:
        """The plan as a person reads it."""
        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        return text

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """A plan that a run wrote; one sentence when it is none."""
        try:
            data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot read the plan {path}: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path} is no YAML ({str(error).splitlines()[0]}); give the config.yaml of a run"
            ) from None
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise explain_invalid(error, str(path)) from None
