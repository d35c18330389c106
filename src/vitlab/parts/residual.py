"""How a branch joins the stream: x + branch, the branch dropped for a whole image now and then while training.

Stochastic depth (Huang et al. 2016) with rate p: x + mask / (1 - p) * branch, mask drawn per image.
"""

from abc import abstractmethod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlab.parts.part import Part, Site


class Residual(Part, slot=True):
    """How the output of attention or of the MLP is added to the tokens."""

    @abstractmethod
    def build(self, site: Site) -> nn.Module: ...


class Add(Residual):
    """x + branch."""

    kind: Literal["add"] = "add"

    def build(self, site: Site) -> nn.Module:
        return _Add(site.drop_path)


class _Add(nn.Module):
    keep: Tensor

    def __init__(self, drop_path: float) -> None:
        super().__init__()
        self.drop_path, self.drops = drop_path, drop_path > 0
        # A tensor, so that blocks of different rates are the same compiled code; its values are no weights.
        self.register_buffer("keep", torch.tensor(1 - drop_path), persistent=False)

    def forward(self, x: Float[Tensor, "B N D"], branch: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        if self.training and self.drops:
            branch = branch * ((torch.rand(len(x), 1, 1, device=x.device) < self.keep) / self.keep).to(branch.dtype)
        return x + branch


class Scale(Residual):
    """Layer scale (Touvron et al. 2021, CaiT): x + gamma * branch, one gamma a channel, starting small."""

    kind: Literal["scale"] = "scale"
    start: float = 1e-5

    def build(self, site: Site) -> nn.Module:
        return _Scale(site.width, self.start, site.drop_path)


class _Scale(_Add):
    def __init__(self, width: int, start: float, drop_path: float) -> None:
        super().__init__(drop_path)
        self.gamma = nn.Parameter(torch.full((width,), start))

    def forward(self, x: Float[Tensor, "B N D"], branch: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        return super().forward(x, branch * self.gamma)
