"""A stretch of a run that sees less of each image than the rest, and so takes less time.

Reading this file imports no torch, as reading a recipe does not.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from vitlab.errors import UserError


class Stage(BaseModel):
    """Until this share of all steps: images of this side, and this share of their patches kept."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    until: float = Field(gt=0, le=1)
    side: int | None = Field(default=None, ge=1, description="in pixels; as the model has it if not given")
    keep: float = Field(default=1.0, gt=0, le=1, description="share of the patches, drawn anew for each image")


WHOLE = Stage(until=1.0)


def at(stages: Sequence[Stage], way: float) -> Stage:
    """The stage at a share of the run from 0 to 1; after the last one images are whole."""
    return next((stage for stage in stages if way < stage.until), WHOLE)


def check_order(stages: Sequence[Stage]) -> None:
    """Each stage ends after the one before it."""
    ends = [stage.until for stage in stages]
    if ends != sorted(set(ends)):
        raise UserError(f"stages end at {', '.join(map(str, ends))}; each has to end after the one before it")
