"""How to train, as data: optimizer, schedule, regularisation, lengths. Named recipes are rows of `RECIPES`.

Reading this file imports no torch, so that a wrong number on the command line is refused at once.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vitlab.errors import UserError, explain_invalid, nearest
from vitlab.training.decay import Cosine, Decay, Line
from vitlab.training.distill import Distill, Hard
from vitlab.training.optimizers.choice import AdamW, Muon, Optimizer
from vitlab.training.optimizers.rates import Even, Parted, Rates
from vitlab.training.stage import Stage, check_order


class Recipe(BaseModel):
    """Linear warmup, then decay, by step; what is None is left as the model's blueprint has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(default=100, ge=1)
    batch: int = Field(default=128, ge=1, description="images a step of the optimizer, over all devices")
    optimizer: Optimizer = AdamW()
    rate: float = Field(default=1e-3, gt=0, description="learning rate at the top of the schedule")
    last_rate: float = Field(default=0.0, ge=0, description="learning rate at its end")
    warmup: float = Field(default=0.05, ge=0, description="steps of warmup, or below 1 their share of all")
    decay: Decay = Cosine()
    rates: Rates = Even()
    freeze: Annotated[int, Field(ge=0)] | Literal["all"] = Field(
        default=0, description="the stem and so many blocks after it stay as they are; all: everything but the head"
    )
    head_first: float = Field(default=0.0, ge=0, le=0.9, description="share of the steps in which only the head learns")
    lora: int | None = Field(default=None, ge=1, le=1_024, description="rank of adapters that learn beside the weights")
    distill: Distill = Hard()
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = Field(default=0.05, ge=0, description="on matrices; none on biases, norms, tokens, positions")
    clip: float | None = Field(default=1.0, gt=0, description="largest norm of the gradient")
    smoothing: float = Field(default=0.1, ge=0, lt=1, description="label smoothing")
    dropout: float | None = Field(default=None, ge=0, lt=1)
    drop_path: float | None = Field(default=0.1, ge=0, lt=1, description="stochastic depth of the last block")
    ema: float | None = Field(default=0.999, ge=0, lt=1, description="decay of the moving average of the weights")
    patience: int | None = Field(default=None, ge=1, description="stop after so many epochs without a better one")
    repeats: int = Field(default=1, ge=1, description="draws of an image in a row, each varied anew")
    balanced: bool = Field(default=False, description="draw every class as often as any other")
    augment: tuple[dict[str, Any], ...] = Field(default=(), description="steps of variation, in their order")
    stages: tuple[Stage, ...] = Field(default=(), description="stretches of the run that see less of each image")

    @model_validator(mode="after")
    def _rates_in_order(self) -> Self:
        if self.balanced and self.repeats > 1:
            raise UserError("balanced and repeats do not go together; take one of them")
        if self.lora is not None and self.freeze != 0:
            raise UserError("lora leaves all weights but the head's as they are; leave freeze out")
        if self.last_rate > self.rate:
            raise UserError(f"last_rate {self.last_rate} is above rate {self.rate}")
        check_order(self.stages)
        return self


_FLIP = {"kind": "flip"}

RECIPES = {
    "few": Recipe(  # a few thousand images: chosen on training digits alone, see docs/log.md
        epochs=60,
        batch=64,
        rate=2e-3,
        warmup=0.1,
        drop_path=0.0,
        augment=({"kind": "affine", "rotate": 10, "shift": 0.0625, "scale": 0.15, "shear": 10},),
    ),
    "cifar": Recipe(
        epochs=200,
        augment=({"kind": "pad_crop", "pixels": 4}, _FLIP, {"kind": "rand_augment"}, {"kind": "mix"}),
    ),
    "compact": Recipe(  # models with a tower of convolutions, in minutes: see docs/log.md
        epochs=10,
        batch=250,
        optimizer=Muon(),
        rate=2e-3,
        decay=Line(hold=0.2),
        drop_path=0.0,
        augment=({"kind": "pad_crop", "pixels": 2}, _FLIP),
    ),
    "grey": Recipe(epochs=60, augment=({"kind": "affine", "rotate": 10, "shift": 0.08, "scale": 0.1, "shear": 5},)),
    "finetune": Recipe(epochs=20, rates=Parted(), augment=({"kind": "resized_crop", "area": (0.5, 1.0)}, _FLIP)),
    "imagenet": Recipe(
        epochs=300,
        batch=4096,
        warmup=10_000,
        ema=0.9999,
        augment=({"kind": "resized_crop"}, _FLIP, {"kind": "rand_augment"}, {"kind": "mix"}, {"kind": "erase"}),
    ),
}


def recipe(name: str, changes: dict[str, Any], flags: Iterable[str] = ()) -> Recipe:
    """A named recipe with some of its entries changed, checked as in `checked`."""
    if name not in RECIPES:
        raise UserError(f"no recipe {name!r}{nearest(name, RECIPES)}")
    return checked({**RECIPES[name].model_dump(), **changes}, "recipe", flags)


def checked(data: dict[str, Any], what: str, flags: Iterable[str] = ()) -> Recipe:
    """A recipe from its data; a wrong entry gets one sentence, by its flag where it is one of `flags`."""
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        raise explain_invalid(error, what, flags) from None
