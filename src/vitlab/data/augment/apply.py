"""A recipe's steps, read and carried out in their order; importing this file makes every kind of step known."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Int64, UInt8
from pydantic import TypeAdapter, ValidationError
from torch import Generator, Tensor
from torch.nn import functional

from vitlab.data.augment import affine, crop, erase, flip, mix, randaugment  # noqa: F401  their kinds
from vitlab.data.augment.step import Images, Step, Targets
from vitlab.errors import explain_invalid


def augment(
    steps: Sequence[Step],
    images: UInt8[Tensor, "B channels X Y"],
    labels: Int64[Tensor, " B"],
    classes: int,
    generator: Generator,
) -> tuple[Images, Targets]:
    """Images on the scale 0 to 255 and targets as rows of probabilities, all steps taken."""
    varied, targets = images.float(), functional.one_hot(labels, classes).float()
    for step in steps:
        varied, targets = step.apply(varied, targets, generator)
    return varied, targets


def read_steps(data: Sequence[Any], what: str) -> tuple[Step, ...]:
    """Steps from their data; a wrong one gets one sentence."""
    try:
        return TypeAdapter(tuple[Step, ...]).validate_python(data)
    except ValidationError as error:
        raise explain_invalid(error, what) from None
