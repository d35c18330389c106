"""How fast each layer of a model learns, from its stem to its head: what a pretrained model asks for.

Reading this file imports no torch, as reading a recipe does not.
"""

from abc import abstractmethod
from typing import Literal

from pydantic import Field

from vitlab.parts.part import Part


class Rates(Part, slot=True):
    """What the recipe's rate is multiplied with, layer by layer."""

    @abstractmethod
    def paces(self, blocks: int) -> list[float]:
        """For the stem, each block, what follows the last one, and the head."""


class Even(Rates):
    """All layers alike."""

    kind: Literal["even"] = "even"

    def paces(self, blocks: int) -> list[float]:
        return [1.0] * (blocks + 3)


class Parted(Rates):
    """The head at the recipe's rate, the last blocks and what follows them at a tenth, all before at a hundredth.

    With a rate of 1e-3 these are the usual 1e-3, 1e-4 and 1e-5.
    """

    kind: Literal["parts"] = "parts"
    early: float = Field(default=0.01, gt=0, le=1, description="of the stem and the early blocks")
    late: float = Field(default=0.1, gt=0, le=1, description="of the last blocks")
    blocks: int = Field(default=2, ge=0, description="that are the last ones")

    def paces(self, blocks: int) -> list[float]:
        late = min(self.blocks, blocks)
        return [self.early] * (1 + blocks - late) + [self.late] * (late + 1) + [1.0]


class Layered(Rates):
    """Each block a little slower than the one after it (Clark et al. 2020, ELECTRA; Bao et al. 2022, BEiT)."""

    kind: Literal["layers"] = "layers"
    decay: float = Field(default=0.75, gt=0, le=1, description="from a block to the one before it")

    def paces(self, blocks: int) -> list[float]:
        return [self.decay ** (blocks + 1 - place) for place in range(blocks + 1)] + [1.0, 1.0]
