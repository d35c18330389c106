"""A recipe's steps, read and carried out in their order; importing this file makes every kind of step known."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Int64, UInt8
from pydantic import TypeAdapter, ValidationError
from torch import Tensor
from torch.nn import functional

from vitlab.data.augment import affine, crop, erase, flip, mix, randaugment  # noqa: F401  their kinds
from vitlab.data.augment.draws import Draws
from vitlab.data.augment.step import Change, Images, Single, Step, Targets
from vitlab.errors import explain_invalid


def augment(
    steps: Sequence[Step],
    images: UInt8[Tensor, "B channels X Y"],
    labels: Int64[Tensor, " B"],
    classes: int,
    draws: Draws,
) -> tuple[Images, Targets]:
    """Images on the scale 0 to 255 and targets as rows of probabilities, all steps taken but those already taken."""
    left = list(enumerate(steps))[draws.taken :]
    varied, targets = images.float() if left else images, functional.one_hot(labels, classes).float()
    for place, step in left:
        varied, targets = step.apply(varied, targets, draws.generator(place))
    return varied, targets


def singly(steps: Sequence[Step], count: int, size: tuple[int, int], draws: Draws) -> list[list[Change]]:
    """For each picture of a batch, what the first `draws.taken` steps do to it."""
    changes = list[list[Change]]()
    for place, step in enumerate(steps[: draws.taken]):
        assert isinstance(step, Single)
        changes.append(step.singly(count, size, draws.generator(place)))
    return [list(each) for each in zip(*changes, strict=True)] if changes else [[]] * count


def read_steps(data: Sequence[Any], what: str) -> tuple[Step, ...]:
    """Steps from their data; a wrong one gets one sentence."""
    try:
        return TypeAdapter(tuple[Step, ...]).validate_python(data)
    except ValidationError as error:
        raise explain_invalid(error, what) from None
