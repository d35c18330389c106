"""From what a person asked for to a plan: look at the data and the machine once, and write down why."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from vitlab.data.augment.apply import read_steps
from vitlab.data.augment.step import Step
from vitlab.data.feed.choose import choose, open_feed
from vitlab.data.feed.feed import Feed
from vitlab.data.feed.feeding import Feeding, cut_from_whole, steps_taken, stored_side
from vitlab.data.look import Look, look
from vitlab.data.origin import Origin
from vitlab.data.preprocess import Preprocess
from vitlab.data.quarantine import digest, read_quarantine
from vitlab.data.sources.source import Samples, Source
from vitlab.data.splits import open_splits
from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint
from vitlab.training import auto, curriculum, machine, pretrained, room, start
from vitlab.training.adapters import check_adapters
from vitlab.training.frozen import check_freeze
from vitlab.training.optimizers.choice import Muon
from vitlab.training.plan import DataFacts, LeftOut, Machine, Plan
from vitlab.training.recipe import Recipe, recipe
from vitlab.training.strategy import Strategy


@dataclass(frozen=True)
class Request:
    """What a person asked for; `auto` and None leave it to the plan, but a start of None means fresh weights."""

    origin: Origin
    model: str | Blueprint = "auto"
    start: str | None = "auto"
    teacher: str | None = None
    size: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    recipe: str = "auto"
    recipe_changes: dict[str, Any] = field(default_factory=dict)
    accumulate: int | None = None
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    devices: int = 1
    nodes: int = 1
    strategy: Strategy = "auto"
    command: str = ""
    cached: bool = True


@dataclass(frozen=True)
class Ready:
    """A plan with the data it was made for, decoded."""

    plan: Plan
    splits: dict[str, Feed]


def resolve(request: Request) -> Ready:
    """Look once, decide everything, say why."""
    device, why_device = machine.pick_device(request.device)
    world = request.devices * request.nodes
    if request.threads:
        torch.set_num_threads(request.threads)
    elif device == "cpu":  # shared by the processes of this machine
        torch.set_num_threads(max(torch.get_num_threads() // request.devices, 1))
    source = open_splits(request.origin)
    train = source.splits["train"]
    seen = look(train)
    side, channels = auto.typical_side(seen.sizes), seen.channels
    reasons = {"data": "; ".join(source.said)} if source.said else {}

    begun, why_fresh = _begun(request, side, channels, len(train), source.classes, device)
    if begun is not None:
        blueprint, reasons["model"] = begun.blueprint, begun.reason
    else:
        blueprint, why_model = _model(request, side, channels, len(train), len(source.classes))
        reasons["model"] = "; ".join(filter(None, (why_model, why_fresh)))
    chosen, reasons["recipe"] = _recipe(request, blueprint.name, begun is not None, side, len(train), channels)
    regularised = {name: value for name in blueprint.regularisers if (value := getattr(chosen, name)) is not None}
    blueprint = blueprint.change(**regularised)
    curriculum.check(blueprint, chosen.stages)
    check_freeze(blueprint, chosen.freeze)
    if chosen.lora is not None:
        check_adapters(blueprint)
    if "ema" not in request.recipe_changes:
        chosen, reasons["ema"] = _ema(chosen, len(train))
    batch = min(chosen.batch, len(train)) // world
    strategy, reasons["strategy"] = _strategy(request.strategy, world, batch, chosen)
    reasons["device"] = why_device

    steps = read_steps(chosen.augment, "recipe.augment")
    plain = begun.preprocess if begun else _plain(blueprint)
    preprocess, feeding, reasons["feeding"] = _feeding(source.splits, seen, plain, steps, device, request.cached)
    splits = _open(source.splits, preprocess, feeding, seen)
    if begun is None:
        mean, std = splits["train"].statistics()
        preprocess = preprocess.model_copy(update={"mean": mean, "std": std})
    taught = None
    if request.teacher is not None:
        taught, reasons["teacher"] = start.plan_teacher(request.teacher, source.classes, preprocess, steps, chosen)
    settled, accumulate, why = _machine(request, blueprint, chosen, batch, device)
    spread = {"devices": request.devices, "nodes": request.nodes, "strategy": strategy}
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
        augment=steps,
        feeding=feeding,
        accumulate=accumulate,
        machine=settled.model_copy(update=spread),
        start=begun.source if begun else None,
        teacher=taught,
        reasons={**reasons, **why},
    )
    return Ready(plan, splits)


def replay(plan: Plan, origin: Origin) -> Ready:
    """The data of a plan that was made before; a sentence if they are not the same any more."""
    machine.pick_device(plan.machine.device)
    if plan.recipe.lora is not None:
        check_adapters(plan.blueprint)
    machine.settle(plan.machine)
    if plan.data.quarantine is not None and origin.quarantine is None:
        origin = replace(origin, quarantine=Path(plan.data.quarantine.file))
    source = open_splits(origin)
    splits = _open(source.splits, plan.preprocess, plan.feeding, look(source.splits["train"]))
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


def _begun(
    request: Request, side: int, channels: int, images: int, classes: tuple[str, ...], device: str
) -> tuple[start.Begun | None, str]:
    """The trained model to begin with, asked for or found to suit; or None for fresh weights, and why."""
    if request.start is None:
        return None, "from scratch: asked for"
    if request.start != "auto":
        return start.plan_start(request.start, classes, request.size, channels), ""
    if request.model != "auto" or request.changes:  # a model of one's own
        return None, ""
    if request.recipe not in ("auto", "finetune"):
        return None, f"from scratch, as recipe {request.recipe!r} begins"
    return pretrained.find(side, images, channels, classes, request.size, device)


def _model(request: Request, side: int, channels: int, images: int, classes: int) -> tuple[Blueprint, str]:
    if request.model == "auto":
        found, why = auto.model(side, images, classes, channels, request.size)
        return found.change(**request.changes), why
    known = registry.blueprint(request.model) if isinstance(request.model, str) else request.model
    fixed: dict[str, Any] = {"classes": classes, "channels": channels}
    if request.size:
        fixed["image"] = request.size
    return known.change(**fixed, **request.changes), "asked for"


def _recipe(request: Request, model: str, begun: bool, side: int, images: int, channels: int) -> tuple[Recipe, str]:
    asked = request.recipe_changes
    adapted, said = (
        ({"rates": "even"}, "; adapters know nothing yet and learn at one rate") if "lora" in asked else ({}, "")
    )
    if request.recipe != "auto":
        return recipe(request.recipe, {**adapted, **asked}), f"{request.recipe!r}: asked for{said}"
    if begun:
        changes, why = auto.tuning(side, images, channels)
        return recipe("finetune", {**changes, **adapted, **asked}), f"'finetune': {why}{said}"
    name, changes, why = auto.recipe(model, side, images, channels)
    return recipe(name, {**changes, **asked}), f"{name!r}: {why}"


def _ema(chosen: Recipe, images: int) -> tuple[Recipe, str]:
    """The moving average reaches back a tenth of the run at most: one longer than the run would hold its beginning."""
    if chosen.ema is None:
        return chosen, "none in this recipe"
    steps = chosen.epochs * max(images // chosen.batch, 1)
    longest = round(1 - 1 / max(0.1 * steps, 1), 6)
    if chosen.ema <= longest:
        return chosen, "as the recipe has it"
    return chosen.model_copy(update={"ema": longest}), f"a tenth of {steps} steps"


def _strategy(asked: Strategy, world: int, batch: int, chosen: Recipe) -> tuple[str, str]:
    """What each process holds of the model."""
    if batch < 1:
        raise UserError(
            f"a batch of {chosen.batch} images cannot be shared by {world} processes; take a larger --batch"
        )
    if asked != "fsdp":
        return (
            "ddp",
            "one process" if world == 1 else "asked for" if asked == "ddp" else "each has all weights: fastest",
        )
    if world == 1:
        raise UserError("--strategy fsdp spreads weights over several processes; give --devices more than 1")
    if isinstance(chosen.optimizer, Muon):
        raise UserError("muon moves whole matrices, which --strategy fsdp cuts up; take --strategy ddp, or adamw")
    return "fsdp", "asked for"


def _machine(
    request: Request, blueprint: Blueprint, chosen: Recipe, batch: int, device: str
) -> tuple[Machine, int, dict[str, str]]:
    """The machine measured, and the parts in which the batch of a process fits into its memory."""
    average, free = chosen.ema is not None, room.free(device, request.devices)
    room.parts(request.accumulate, batch, batch)  # what cannot be is refused before anything is measured
    tried = "float32" if request.precision == "auto" else request.precision
    fit = room.fitting(blueprint, tried, batch, average, free)
    settled, reasons = machine.resolve(blueprint, max(fit, 2), device, request.precision)
    if fit < batch and settled.precision != tried:
        fit = room.fitting(blueprint, settled.precision, batch, average, free)
    accumulate, reasons["accumulate"] = room.parts(request.accumulate, batch, fit)
    return settled, accumulate, reasons


def _plain(blueprint: Blueprint) -> Preprocess:
    """Pictures for this model, their mean and deviation not known yet."""
    channels = blueprint.channels
    return Preprocess(size=blueprint.image, channels=channels, mean=(0.0,) * channels, std=(1.0,) * channels)


def _feeding(
    samples: dict[str, Samples], seen: Look, plain: Preprocess, steps: Sequence[Step], device: str, cached: bool
) -> tuple[Preprocess, Feeding, str]:
    """How pictures are brought to the model's size, where they are kept and who varies them."""
    size = plain.size
    whole = cut_from_whole(seen, size, steps)
    preprocess = plain.model_copy(update={"stored": stored_side(seen, size) if whole else None})
    taken, who = steps_taken(size, device, steps, whole)
    feeding, where = choose(samples, seen, preprocess, whole, taken, cached)
    return preprocess, feeding, f"{where}; {who}"


def _open(samples: dict[str, Samples], preprocess: Preprocess, feeding: Feeding, seen: Look) -> dict[str, Feed]:
    """Every split, kept as decided; training images whole where crops are cut from them."""
    return {
        name: open_feed(found, preprocess, getattr(feeding, name), seen if feeding.whole and name == "train" else None)
        for name, found in samples.items()
    }
