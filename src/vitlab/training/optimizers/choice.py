"""Which optimizer a recipe asks for. The rate and the decay of AdamW are the recipe's own entries.

Reading this file imports no torch, as reading a recipe does not.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from vitlab.parts.part import Part

if TYPE_CHECKING:
    import torch

    from vitlab.training.optimizers.groups import Weights


class Optimizer(Part, slot=True):
    """How gradients become steps."""

    @abstractmethod
    def build(
        self, weights: "Weights", rate: float, betas: tuple[float, float], weight_decay: float, dtype: "torch.dtype"
    ) -> "torch.optim.Optimizer":
        """The optimizer of these weights; whatever products of matrices it needs are taken in `dtype`."""


class AdamW(Optimizer):
    """Each weight by its own scale (Loshchilov & Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"

    def build(
        self, weights: "Weights", rate: float, betas: tuple[float, float], weight_decay: float, dtype: "torch.dtype"
    ) -> "torch.optim.Optimizer":
        from vitlab.training.optimizers.build import adamw

        return adamw([*weights.hidden, *weights.matrices], weights.vectors, rate, betas, weight_decay)


class Muon(Optimizer):
    """Hidden matrices and convolutions by orthogonalised steps (Jordan et al. 2024), everything else by AdamW.

    `rate` and `weight_decay` are those of the orthogonalised steps; the schedule multiplies both optimizers' rates.
    """

    kind: Literal["muon"] = "muon"
    rate: float = Field(default=0.02, gt=0, description="of the orthogonalised steps, whose size is that of the rate")
    momentum: float = Field(default=0.95, ge=0, lt=1)
    weight_decay: float = Field(default=0.01, ge=0, description="of the weights that Muon moves")

    def build(
        self, weights: "Weights", rate: float, betas: tuple[float, float], weight_decay: float, dtype: "torch.dtype"
    ) -> "torch.optim.Optimizer":
        from vitlab.training.optimizers import muon
        from vitlab.training.optimizers.build import adamw
        from vitlab.training.optimizers.together import Together

        rest = adamw(weights.matrices, weights.vectors, rate, betas, weight_decay)
        if not weights.hidden:
            return rest
        return Together([rest, muon.Muon(weights.hidden, self.rate, self.momentum, self.weight_decay, dtype)])
