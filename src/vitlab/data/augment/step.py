"""What every variation is: a frozen description that changes a batch of images, and perhaps its targets."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Generator, Tensor

from vitlab.parts.part import Part

Images = Float[Tensor, "B channels X Y"]
Targets = Float[Tensor, "B classes"]
Picture = NDArray[np.uint8]  # one image: rows, columns, channels
Change = Callable[[Picture], Picture]


class Step(Part, slot=True):
    """One way to vary a batch."""

    @abstractmethod
    def apply(self, images: Images, targets: Targets, generator: Generator) -> tuple[Images, Targets]:
        """The batch varied: images on the scale 0 to 255, targets as rows of probabilities."""


class Single(Step):
    """One that can also be carried out on one picture at a time, each core taking its own."""

    @abstractmethod
    def singly(self, count: int, size: tuple[int, int], generator: Generator) -> list[Change]:
        """What happens to each picture of a batch, from the same draws as `apply` takes; `size` is the model's."""


def draw(count: int, generator: Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
    """A number an image, evenly between two."""
    return low + (high - low) * torch.rand(count, generator=generator)
