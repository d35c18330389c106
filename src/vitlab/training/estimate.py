"""What a run will take, said before its first step: its time from the pace measured here, its memory as counted."""

from dataclasses import dataclass

from vitlab.models.cost import Memory, memory
from vitlab.training import room
from vitlab.training.plan import Plan
from vitlab.training.work import Work

_VALIDATING = 1 / 3  # of an image's work: the way there alone


@dataclass(frozen=True)
class Estimate:
    """Seconds of all epochs and bytes of a step; what is free, and what to do where that is too little."""

    seconds: float | None
    memory: int
    free: int | None
    advice: str = ""


def estimate(plan: Plan, counted: Memory) -> Estimate:
    """Of a plan with the memory of its step, counted. Augmentation, a teacher and the optimizer's step come on top."""
    seconds = None
    if pace := plan.machine.images_per_second:
        trained = plan.batches * plan.micro_batch * Work(plan.blueprint, plan.recipe).until(1.0)
        seconds = plan.recipe.epochs * (trained + _VALIDATING * plan.data.val / plan.machine.world) / pace
    bytes_, free = (
        room.needed(counted, plan.recipe.ema is not None),
        room.free(plan.machine.device, plan.machine.devices),
    )
    advice = "" if free is None or bytes_ <= room.TAKEN * free else _advice(plan, bytes_, free)
    return Estimate(seconds, bytes_, free, advice)


def _advice(plan: Plan, bytes_: int, free: int) -> str:
    """One sentence: what would fit."""
    average, precision = plan.recipe.ema is not None, plan.machine.precision
    images = plan.micro_batch * plan.accumulate
    told = f"this may not fit: {_gib(free)} are free"
    fit = room.fitting(plan.blueprint, precision, images, average, free)
    if fit and fit < plan.micro_batch:
        split, _ = room.parts(None, images, fit)
        less = room.needed(memory(plan.blueprint, images // split, precision), average)
        return f"{told}; --accumulate {split} takes {_gib(less)}"
    return f"{told}, too little for one image of this model; take a smaller one, or a smaller --size"


def _gib(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB"
