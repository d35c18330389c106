"""From the pooled vector to logits; no softmax, which belongs to the loss and to `predict`."""

from abc import abstractmethod
from typing import Literal

from torch import nn

from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Part


class Head(Part, slot=True):
    """What reads the pooled vector; with no classes it hands the vector on."""

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
