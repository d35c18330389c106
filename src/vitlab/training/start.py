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
from vitlab.weights import hub
from vitlab.weights.fit import Wanted, fit, numbered
from vitlab.weights.load import load
from vitlab.weights.say import Say
from vitlab.weights.source import at_commit, full_name

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


def plan_start(path: str, classes: Classes, size: int | None, channels: int, commit: str | None = None) -> Begun:
    """A trained model for these classes. Grey pictures are shown to it in colours if it knows those, and so on."""
    said: list[str] = []
    found, source = _open(path, commit, said.append)
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
    found, source = _open(path, None)
    Teacher(found, classes, student).check()
    remembered = not steps and not any(stage.side for stage in recipe.stages)
    how = (
        "answers once, since nothing varies the images" if remembered else "is asked at every step, about images varied"
    )
    kind = f"{recipe.distill.model_dump()['kind']} targets, {recipe.distill.share:.0%} of the loss"
    return Teaching(**source.model_dump(), remembered=remembered), f"{kind}; {how}"


def reopen(source: Source) -> Bundle:
    """The same model again; a sentence if it is another one now. The hub is not asked for what is in the cache."""
    found, now = _open(source.path, source.revision)
    if now.digest != source.digest:
        raise UserError(f"{source.path} holds other weights than those this run was planned with; bring those back")
    if source.named is True and not now.named:
        raise UserError(
            f"the names of the classes of {source.path} cannot be had now, and this run was planned with them; "
            "try again with a connection"
        )
    return _unnamed(found) if source.named is False else found


def _unnamed(found: Bundle) -> Bundle:
    """With numbers for names, as it was when the plan was made."""
    numbers = tuple(map(str, range(len(found.classes))))
    return Bundle(found.model, found.card.model_copy(update={"classes": numbers}))


def fitted(found: Bundle, classes: Classes, size: tuple[int, int], channels: int, say: Say) -> Bundle:
    """The bundle for these images and classes; rows of the head are kept for classes of the same name."""
    return fit(found, Wanted(size=size, channels=channels, classes=classes), say)


def _open(path: str, commit: str | None, say: Say = _nothing) -> tuple[Bundle, Source]:
    """A trained model, by name at a commit where one is known, and what a plan remembers of it."""
    found = load(at_commit(path, commit), say=say)
    if Path(path).exists():
        path = str(Path(path).resolve())
    else:
        commit = hub.revision(full_name(at_commit(path, commit)))
    named = not numbered(found.card)
    return found, Source(
        path=path, revision=commit, digest=_digest(found.model), model=found.card.blueprint.name, named=named
    )


def _digest(model: Model) -> str:
    """A hash of every weight."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
