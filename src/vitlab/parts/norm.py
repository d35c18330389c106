"""Normalisation of a token's vector."""

from abc import abstractmethod
from typing import Literal

from pydantic import Field
from torch import nn

from vitlab.parts.part import Part


class Norm(Part, slot=True):
    """What keeps a token's vector at a steady scale."""

    @abstractmethod
    def build(self, width: int) -> nn.Module: ...


class Layer(Norm):
    """LayerNorm over the width: (x - mean) / sqrt(variance + eps) * weight + bias."""

    kind: Literal["layer"] = "layer"
    eps: float = Field(default=1e-6, gt=0)

    def build(self, width: int) -> nn.Module:
        return nn.LayerNorm(width, eps=self.eps)
