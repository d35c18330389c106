"""The shape in which the learning rate falls from the end of the warmup to the end of the run.

Reading this file imports no torch, as reading a recipe does not.
"""

import math
from abc import abstractmethod
from typing import Literal

from pydantic import Field

from vitlab.parts.part import Part


class Decay(Part, slot=True):
    """How the rate comes to rest."""

    @abstractmethod
    def at(self, way: float) -> float:
        """From 1 at the start (way 0) to 0 at the end (way 1)."""


class Cosine(Decay):
    """Half a cosine: (1 + cos(pi way)) / 2 (Loshchilov & Hutter 2017)."""

    kind: Literal["cosine"] = "cosine"

    def at(self, way: float) -> float:
        return (1 + math.cos(math.pi * way)) / 2


class Line(Decay):
    """At the top for a share `hold` of the way, then straight down."""

    kind: Literal["linear"] = "linear"
    hold: float = Field(default=0.0, ge=0, lt=1)

    def at(self, way: float) -> float:
        return min((1 - way) / (1 - self.hold), 1.0)
