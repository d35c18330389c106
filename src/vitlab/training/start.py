"""Trained models that a run begins with or learns from: opened, made to fit, known again when the run is repeated."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from vitlab.bundle import Bundle
from vitlab.data.augment.step import Step
from vitlab.data.feed.feed import Feed
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint, Model
from vitlab.parts.sighted import sighted
from vitlab.training.plan import Plan, Source, Teaching
from vitlab.training.recipe import Recipe
from vitlab.training.teacher import Teacher
from vitlab.weights.fit import Wanted, fit
from vitlab.weights.load import load
from vitlab.weights.say import Say

Classes = tuple[str, ...]


def _nothing(sentence: str) -> None:
    """What was said when the plan was made is not said again."""


@dataclass(frozen=True)
class Begun:
    """What a run that starts from a trained model takes from it."""

    source: Source
    blueprint: Blueprint
    preprocess: Preprocess
    reason: str


def plan_start(path: str, classes: Classes, size: int | None, channels: int) -> Begun:
    """A trained model for these classes. Grey pictures are shown to it in colours if it knows those, and so on."""
    said: list[str] = []
    found, source = _open(path, said.append)
    described = found.card.blueprint
    keep = {described.channels, channels} <= {1, 3}
    image = described.image if size is None else (size, size)
    made = fitted(found, classes, image, described.channels if keep else channels, said.append)
    reason = "; ".join([f"begins with the weights of {path}", *said])
    return Begun(source, made.card.blueprint, made.card.preprocess, reason)


def begin(plan: Plan, train: Feed) -> Model:
    """The model of a plan with its first values: fresh, or those of the model it starts from.

    Where some are taken from images, every process looks at the same ones.
    """
    model = plan.blueprint.build()
    if plan.start is None:
        if looking := sighted(model):
            images = plan.preprocess.normalise(train.some())
            for module in looking:
                module.see(images)
    else:
        found = fitted(reopen(plan.start), plan.data.classes, plan.blueprint.image, plan.blueprint.channels, _nothing)
        model.load_state_dict(found.model.state_dict())
    return model


def plan_teacher(
    path: str, classes: Classes, student: Preprocess, steps: Sequence[Step], recipe: Recipe
) -> tuple[Teaching, str]:
    """A teacher, and whether its answers can be computed once: where every epoch shows the same pixels."""
    found, source = _open(path)
    Teacher(found, classes, student).check()
    remembered = not steps and not any(stage.side for stage in recipe.stages)
    how = (
        "answers once, since nothing varies the images" if remembered else "is asked at every step, about images varied"
    )
    kind = f"{recipe.distill.model_dump()['kind']} targets, {recipe.distill.share:.0%} of the loss"
    return Teaching(**source.model_dump(), remembered=remembered), f"{kind}; {how}"


def reopen(source: Source) -> Bundle:
    """The same model again; a sentence if it is another one now."""
    found, now = _open(source.path)
    if now.digest != source.digest:
        raise UserError(f"{source.path} holds other weights than those this run was planned with; bring those back")
    return found


def fitted(found: Bundle, classes: Classes, size: tuple[int, int], channels: int, say: Say) -> Bundle:
    """The bundle for these images and classes; rows of the head are kept for classes of the same name."""
    return fit(found, Wanted(size=size, channels=channels, classes=classes), say)


def _open(path: str, say: Say = _nothing) -> tuple[Bundle, Source]:
    """A trained model, and what a plan remembers of it."""
    found = load(path, say=say)
    if Path(path).exists():
        path = str(Path(path).resolve())
    return found, Source(path=path, digest=_digest(found.model), model=found.card.blueprint.name)


def _digest(model: Model) -> str:
    """A hash of every weight."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
