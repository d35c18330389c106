"""Learned tokens put before the patches, in this order: class, distillation, registers."""

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.parts.part import Part


class Prefix(Part):
    """Which learned tokens stand before the patches.

    The class token gathers the image for the head (ViT); the distillation token listens to a teacher (DeiT);
    registers give the model room to compute without spoiling patches (Darcet et al. 2024).
    """

    cls: bool = True
    distillation: bool = False
    registers: int = Field(default=0, ge=0)

    @property
    def count(self) -> int:
        return self.cls + self.distillation + self.registers

    def build(self, width: int) -> nn.Module:
        return _Prefix(self.count, width) if self.count else nn.Identity()


class _Prefix(nn.Module):
    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(count, width)

    def forward(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B N D"]:
        return torch.cat([self.table.weight.to(x.dtype).expand(len(x), -1, -1), x], dim=1)
