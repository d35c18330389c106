"""From the pooled vector to logits; no softmax, which belongs to the loss and to `predict`."""

from abc import abstractmethod
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Part


class Head(Part, slot=True):
    """What reads the pooled vector; with no classes it hands the vector on."""

    vectors: ClassVar[int | None] = None  # how many the pool has to put side by side, where it matters

    @abstractmethod
    def build(self, width: int, classes: int) -> nn.Module: ...


class Linear(Head):
    """One linear layer."""

    kind: Literal["linear"] = "linear"

    def build(self, width: int, classes: int) -> nn.Module:
        return nn.Linear(width, classes) if classes else nn.Identity()


class Normed(Head):
    """Normalise the pooled vector, then one linear layer: for models without a norm after the last block."""

    kind: Literal["normed"] = "normed"
    norm: Norm = Layer()

    def build(self, width: int, classes: int) -> nn.Module:
        return nn.Sequential(self.norm.build(width), Linear().build(width, classes))


class Averaged(Head):
    """A linear layer for each of two tokens, their logits averaged (DeiT, section 3: class and distillation token)."""

    kind: Literal["averaged"] = "averaged"
    vectors: ClassVar[int | None] = 2

    def build(self, width: int, classes: int) -> nn.Module:
        return _Averaged(width // 2, classes)


class Heads(nn.Module):
    """The module of several heads that can be taught apart."""

    @abstractmethod
    def each(self, x: Float[Tensor, "B F"]) -> tuple[Tensor, ...]:
        """The logits of each; the first one's teacher are the labels."""


class _Averaged(Heads):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.cls = Linear().build(width, classes)
        self.distillation = Linear().build(width, classes)

    def each(self, x: Float[Tensor, "B F"]) -> tuple[Tensor, Tensor]:
        """The logits of the class token and of the distillation token."""
        cls, distillation = x.chunk(2, dim=1)
        return self.cls(cls), self.distillation(distillation)

    def forward(self, x: Float[Tensor, "B F"]) -> Tensor:
        cls, distillation = self.each(x)
        return (cls + distillation) / 2
