"""First values of the weights, by scheme.

Norms start at one and zero and biases at zero in every scheme. Learned vectors (tokens, positions, queries) live in
`nn.Embedding`s, which is how a scheme tells them from matrices. A module with first values of its own (layer scale,
random features) is left as it was built.
"""

from abc import abstractmethod
from typing import Literal

from pydantic import Field
from torch import nn

from vitlab.parts.part import Part


class Init(Part, slot=True):
    """How a model's weights start; `vectors` says it for tokens and positions."""

    vectors: Literal["scheme", "zeros", "unit"] = "scheme"

    @abstractmethod
    def matrix(self, module: nn.Linear | nn.Conv2d) -> None:
        """First values of one weight matrix."""

    @abstractmethod
    def vector(self, table: nn.Embedding) -> None:
        """First values of learned vectors under `vectors="scheme"`."""

    def start(self, model: nn.Module) -> None:
        """Give every weight of `model` its first value."""
        for module in model.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                self.matrix(module)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm | nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                {"scheme": self.vector, "zeros": _zeros, "unit": _unit}[self.vectors](module)


def _zeros(table: nn.Embedding) -> None:
    nn.init.zeros_(table.weight)


def _unit(table: nn.Embedding) -> None:
    nn.init.normal_(table.weight, std=1.0)


class Truncated(Init):
    """A normal distribution cut at two standard deviations, for matrices and vectors alike."""

    kind: Literal["truncated"] = "truncated"
    std: float = Field(default=0.02, ge=0, le=100)

    def matrix(self, module: nn.Linear | nn.Conv2d) -> None:
        nn.init.trunc_normal_(module.weight, std=self.std, a=-2 * self.std, b=2 * self.std)

    def vector(self, table: nn.Embedding) -> None:
        nn.init.trunc_normal_(table.weight, std=self.std, a=-2 * self.std, b=2 * self.std)


class Normal(Init):
    """A normal distribution for linear layers and vectors, Kaiming's (fan out, ReLU) for convolutions."""

    kind: Literal["normal"] = "normal"
    std: float = Field(default=0.02, ge=0, le=100)

    def matrix(self, module: nn.Linear | nn.Conv2d) -> None:
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        else:
            nn.init.normal_(module.weight, std=self.std)

    def vector(self, table: nn.Embedding) -> None:
        nn.init.normal_(table.weight, std=self.std)


class Xavier(Init):
    """Glorot's uniform for linear layers, LeCun's normal (variance 1 / fan in) for convolutions, as ViT's authors do.

    Unlike a fixed deviation it keeps signals at one scale in narrow models and small patches; with `vectors="unit"`
    positions are as large as what they are added to, which a small model on few images needs (docs/log.md).
    """

    kind: Literal["xavier"] = "xavier"
    std: float = Field(default=0.02, ge=0, le=100)

    def matrix(self, module: nn.Linear | nn.Conv2d) -> None:
        if isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=module.weight[0].numel() ** -0.5)
        else:
            nn.init.xavier_uniform_(module.weight)

    def vector(self, table: nn.Embedding) -> None:
        nn.init.normal_(table.weight, std=self.std)
