"""What every variation is: a frozen description that changes a batch of images, and perhaps its targets."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from vitlab.parts.part import Part

Images = Float[Tensor, "B channels X Y"]
Targets = Float[Tensor, "B classes"]


class Step(Part, slot=True):
    """One way to vary a batch."""

    @abstractmethod
    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        """The batch varied: images on the scale 0 to 255, targets as rows of probabilities."""


def draw(count: int, generator: Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
    """A number an image, evenly between two."""
    return low + (high - low) * torch.rand(count, generator=generator)
