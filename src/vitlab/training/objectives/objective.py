"""What every objective is."""

from typing import NamedTuple, Protocol

from torch import Tensor, nn


class Outcome(NamedTuple):
    """A loss to minimise, and where the objective classifies, how many of how many were right."""

    loss: Tensor
    correct: Tensor
    images: int


class Objective(Protocol):
    """From a model and a batch to a loss."""

    def __call__(self, model: nn.Module, images: Tensor, targets: Tensor) -> Outcome: ...
