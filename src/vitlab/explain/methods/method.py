"""What every explanation has in common: normalised images and a class for each in, a number for each place out.

The numbers are on the grid of the patches or finer; larger means that the place speaks more for the class. What a
method cannot do for a model is a `UserError` that says why.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vitlab.explain.methods.titles import TITLES
from vitlab.models.blueprint import Model

Images = Float[Tensor, "B channels X Y"]
Targets = Int64[Tensor, " B"]
Heat = Float[Tensor, "B rows columns"]
Explain = Callable[[Model, Images, Targets], Heat]


@dataclass(frozen=True)
class Method:
    """A way to say which places of an image matter."""

    name: str
    explain: Explain

    @property
    def title(self) -> str:
        """What stands under a picture."""
        return TITLES[self.name]


def score(logits: Tensor, targets: Targets) -> Tensor:
    """The logits of the classes in question, summed over images: each image's gradient is its own."""
    return logits[torch.arange(len(targets), device=logits.device), targets].sum()
