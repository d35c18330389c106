"""What was found out about someone's checkpoint before any of it is read."""

from dataclasses import dataclass
from typing import Any

from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint
from vitlab.weights.maps.links import Link
from vitlab.weights.reading.checkpoint import Checkpoint

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))  # what the original ViTs and AugReg were trained with


@dataclass(frozen=True)
class Described:
    """A checkpoint under its library's names, the blueprint that it fits, and how the two are linked."""

    library: str
    checkpoint: Checkpoint
    blueprint: Blueprint
    links: list[Link]
    preprocess: Preprocess
    classes: tuple[str, ...] = ()  # none: the checkpoint does not name them
    unused: tuple[tuple[str, str], ...] = ()
    said: tuple[str, ...] = ()


def guessed(blueprint: Blueprint, figures: tuple[tuple[float, ...], tuple[float, ...]]) -> Preprocess:
    """For a file that does not say how its images were prepared: the figures that models of this library share."""
    mean, std = (of_channels(values, blueprint.channels) for values in figures)
    return Preprocess(size=blueprint.image, channels=blueprint.channels, mean=mean, std=std, crop=0.875)


def of_channels(values: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """Figures of some channels for another number of them: their mean for one, else by turns."""
    if len(values) == channels:
        return values
    if channels == 1:
        return (sum(values) / len(values),)
    return tuple(values[i % len(values)] for i in range(channels))


def section(config: Any, key: str, where: str) -> dict[str, Any]:
    """A part of someone's configuration that has to be a table."""
    found = config.get(key) if isinstance(config, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UserError(f"{where}: {key} wants named entries, not {str(found)[:60]!r}")
    return found
