"""Pretrained checkpoints worth fetching, by the names of the models that they are of.

Licences and accuracies are those of the checkpoints' own pages; an accuracy that could not be verified is left out.
"""

from typing import NamedTuple


class Pretrained(NamedTuple):
    """Where a checkpoint is, what may be done with it, how its images are prepared, how good it is said to be."""

    source: str
    licence: str
    images: str
    top1: float | None  # on ImageNet-1k's validation images, in per cent


CATALOGUE: dict[str, Pretrained] = {}
