"""From what a person asked for to a plan: look at the data and the machine once, and write down why."""

from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from vitlab.data import memory
from vitlab.data.augment.apply import read_steps
from vitlab.data.memory import Pictures
from vitlab.data.origin import Origin
from vitlab.data.preprocess import Preprocess
from vitlab.data.quarantine import digest, read_quarantine
from vitlab.data.sources.source import Samples, Source
from vitlab.data.splits import open_splits
from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint
from vitlab.parts import kernels
from vitlab.training import auto, curriculum, machine
from vitlab.training.plan import DataFacts, LeftOut, Plan
from vitlab.training.recipe import Recipe, recipe

LARGEST_MICRO_BATCH = 256


@dataclass(frozen=True)
class Request:
    """What a person asked for; `auto` and None leave it to the plan."""

    origin: Origin
    model: str | Blueprint = "auto"
    size: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    recipe: str = "auto"
    recipe_changes: dict[str, Any] = field(default_factory=dict)
    accumulate: int | None = None
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    command: str = ""


@dataclass(frozen=True)
class Ready:
    """A plan with the data it was made for, decoded."""

    plan: Plan
    splits: dict[str, Pictures]


def resolve(request: Request) -> Ready:
    """Look once, decide everything, say why."""
    if request.threads:
        torch.set_num_threads(request.threads)
    device, why_device = machine.pick_device(request.device)
    source = open_splits(request.origin)
    train = source.splits["train"]
    side, channels = _look(train)
    reasons = {"data": "; ".join(source.said)} if source.said else {}

    blueprint, reasons["model"] = _model(request, side, channels, len(train), len(source.classes))
    chosen, reasons["recipe"] = _recipe(request, side, len(train), channels)
    regularised = {name: value for name in blueprint.regularisers if (value := getattr(chosen, name)) is not None}
    blueprint = blueprint.change(**regularised)
    curriculum.check(blueprint, chosen.stages)
    if "ema" not in request.recipe_changes:
        chosen, reasons["ema"] = _ema(chosen, len(train))
    accumulate, reasons["accumulate"] = _accumulate(request.accumulate, min(chosen.batch, len(train)))
    reasons["device"] = why_device

    preprocess, splits = _decode(source.splits, blueprint)
    settled, why = machine.resolve(blueprint, chosen.batch // accumulate, device, request.precision)
    plan = Plan(
        command=request.command,
        seed=request.seed,
        model=blueprint.name,
        data=DataFacts(
            source=request.origin.data,
            root=None if request.origin.root is None else str(request.origin.root),
            quarantine=_left_out(request.origin, source),
            name=source.name,
            fingerprint=splits["train"].fingerprint,
            classes=source.classes,
            train=len(splits["train"]),
            val=len(splits["val"]),
            test=len(splits["test"]),
        ),
        blueprint=blueprint,
        preprocess=preprocess,
        recipe=chosen,
        augment=read_steps(chosen.augment, "recipe.augment"),
        accumulate=accumulate,
        machine=settled,
        reasons={**reasons, **why},
    )
    return Ready(plan, splits)


def replay(plan: Plan, origin: Origin) -> Ready:
    """The data of a plan that was made before; a sentence if they are not the same any more."""
    machine.pick_device(plan.machine.device)
    torch.set_num_threads(plan.machine.threads)
    kernels.adopt(plan.machine.kernels)
    if plan.data.quarantine is not None and origin.quarantine is None:
        origin = replace(origin, quarantine=Path(plan.data.quarantine.file))
    source = open_splits(origin)
    splits = {name: memory.load(samples, plan.preprocess) for name, samples in source.splits.items()}
    if splits["train"].fingerprint != plan.data.fingerprint:
        raise UserError(
            f"{origin.data} is not the data this plan was made for: its training images or their order differ"
        )
    return Ready(plan, splits)


def _left_out(origin: Origin, source: Source) -> LeftOut | None:
    if origin.quarantine is None:
        return None
    keys = read_quarantine(origin.quarantine)
    return LeftOut(file=str(origin.quarantine), digest=digest(keys), images=source.left_out)


def _look(samples: Samples) -> tuple[int, int]:
    """The typical side and the number of channels, from a few pictures spread over the samples."""
    step = max(len(samples) // 64, 1)
    pictures, complaint = [], None
    for i in islice(range(0, len(samples), step), 64):
        try:
            pictures.append(samples.read(i))
        except UserError as error:  # left out, and told of, when all are decoded
            complaint = error
    if not pictures and complaint:
        raise complaint
    sizes, channels = [], set()
    for picture in pictures:
        if isinstance(picture, Image.Image):
            sizes.append((picture.height, picture.width))
            channels.add(1 if picture.mode in ("1", "L") or picture.mode.startswith("I") else 3)
        else:
            sizes.append(np.shape(picture)[:2])
            channels.add(1 if picture.ndim == 2 else picture.shape[2])
    return auto.typical_side(sizes), max(channels)


def _model(request: Request, side: int, channels: int, images: int, classes: int) -> tuple[Blueprint, str]:
    if request.model == "auto":
        found, why = auto.model(request.size or side, images, classes, channels)
        return found.change(**request.changes), why
    known = registry.blueprint(request.model) if isinstance(request.model, str) else request.model
    fixed: dict[str, Any] = {"classes": classes, "channels": channels}
    if request.size:
        fixed["image"] = request.size
    return known.change(**fixed, **request.changes), "asked for"


def _recipe(request: Request, side: int, images: int, channels: int) -> tuple[Recipe, str]:
    name, why = (request.recipe, "asked for") if request.recipe != "auto" else auto.recipe(side, images, channels)
    return recipe(name, request.recipe_changes), f"{name!r}: {why}"


def _ema(chosen: Recipe, images: int) -> tuple[Recipe, str]:
    """The moving average reaches back a tenth of the run at most: one longer than the run would hold its beginning."""
    if chosen.ema is None:
        return chosen, "none in this recipe"
    steps = chosen.epochs * max(images // chosen.batch, 1)
    longest = round(1 - 1 / max(0.1 * steps, 1), 6)
    if chosen.ema <= longest:
        return chosen, "as the recipe has it"
    return chosen.model_copy(update={"ema": longest}), f"a tenth of {steps} steps"


def _accumulate(asked: int | None, batch: int) -> tuple[int, str]:
    if asked is not None:
        if asked > batch:
            raise UserError(
                f"a batch of {batch} images cannot be split into {asked} parts; take a smaller --accumulate"
            )
        return asked, "asked for"
    parts = -(-batch // LARGEST_MICRO_BATCH)
    return parts, f"a batch of {batch} images is computed in {parts} part{'s' if parts > 1 else ''}"


def _decode(samples: dict[str, Samples], blueprint: Blueprint) -> tuple[Preprocess, dict[str, Pictures]]:
    """Every split in memory, and the preprocessing with the training images' own mean and deviation."""
    plain = (0.0,) * blueprint.channels, (1.0,) * blueprint.channels
    preprocess = Preprocess(size=blueprint.image, channels=blueprint.channels, mean=plain[0], std=plain[1])
    splits = {name: memory.load(found, preprocess) for name, found in samples.items()}
    mean, std = memory.statistics(splits["train"].images)
    return preprocess.model_copy(update={"mean": mean, "std": std}), splits
