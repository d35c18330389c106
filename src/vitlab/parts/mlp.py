"""The half of a block that works on each token alone: widen, bend, narrow."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts.dropout import Dropout
from vitlab.parts.native import library, passes
from vitlab.parts.part import Part, Site


class Mlp(Part, slot=True):
    """What a block does to each token by itself."""

    @abstractmethod
    def build(self, site: Site) -> nn.Module: ...


class TwoLayer(Mlp):
    """act(x W1 + b1) W2 + b2, with dropout after both layers; the hidden width is `ratio` times the model's."""

    kind: Literal["mlp"] = "mlp"
    ratio: float = Field(default=4.0, gt=0, le=64)
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"

    def build(self, site: Site) -> nn.Module:
        if not (hidden := int(site.width * self.ratio)):
            raise UserError(f"a ratio of {self.ratio} leaves nothing of a width of {site.width}")
        return _TwoLayer(site.width, hidden, self.activation, site.dropout)


_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": nn.ReLU,
}


class _TwoLayer(nn.Module):
    def __init__(self, width: int, hidden: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(width, hidden)
        self.activation, self.exact = _ACTIVATIONS[activation](), activation == "gelu"
        self.narrow = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        return self.dropout(self.narrow(self._bent(self.widen(x))))

    def _bent(self, x: Tensor) -> Tensor:
        """The activation with its dropout: for exact GELU in training one pass over memory, where there is one."""
        if self.training and self.exact and library.fits(x):
            return passes.gelu(x, self.dropout.p)
        return self.dropout(self.activation(x))
