"""Modules that take their first values from images, and how a model is shown some."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn


class Sighted(nn.Module):
    """A module that looks at training images once, before anything is learned."""

    @abstractmethod
    def see(self, images: Float[Tensor, "B channels X Y"]) -> None:
        """Take first values from these images, prepared as the model is shown them."""


def sighted(model: nn.Module) -> list[Sighted]:
    """The modules of a model that want to see images before it learns."""
    return [module for module in model.modules() if isinstance(module, Sighted)]
