"""How a run is fed, as data that the plan records: where each split is kept, and what is done picture by picture."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from vitlab.data.augment.crop import ResizedCrop
from vitlab.data.augment.step import Single, Step
from vitlab.data.look import Look

Way = Literal["memory", "cache", "stream"]

STORED = 2  # sides of the model: a crop of a quarter of the area still has every pixel that it needs
LARGE = 64  # from this side on, on a CPU, Pillow on one picture is quicker than torch on a batch; docs/decisions/0014


class Feeding(BaseModel):
    """Splits are in memory unless said; `taken` steps of variation are carried out on one picture at a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train: Way = "memory"
    val: Way = "memory"
    test: Way = "memory"
    whole: bool = Field(default=False, description="training crops are cut from whole pictures, not from fitted ones")
    taken: int = Field(default=0, ge=0)


def cut_from_whole(look: Look, size: tuple[int, int], steps: Sequence[Step]) -> bool:
    """Whether crops come first and pictures have more to cut from than what fits the model."""
    return bool(steps) and isinstance(steps[0], ResizedCrop) and set(look.sizes) != {size}


def stored_side(look: Look, size: tuple[int, int]) -> int | None:
    """The shorter side at which whole pictures are kept; None where that keeps them as they are."""
    most = STORED * min(size)
    return most if any(min(found) > most for found in look.sizes) else None


def steps_taken(size: tuple[int, int], device: str, steps: Sequence[Step], whole: bool) -> tuple[int, str]:
    """How many steps are taken picture by picture, and why."""
    able = next((i for i, step in enumerate(steps) if not isinstance(step, Single)), len(steps))
    if device == "cpu" and min(size) >= LARGE and able:
        return able, f"varied one by one, each core its own: a batch of {size[0]}x{size[1]} leaves its cache"
    where = "on the device, a batch at a time"
    return (1, f"crops are cut by all cores, the rest varied {where}") if whole else (0, f"varied {where}")
