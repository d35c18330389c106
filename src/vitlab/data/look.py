"""A first look at a few pictures of a split, from which the size of the rest is guessed."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
from PIL import Image

from vitlab.data.sources.source import Samples
from vitlab.errors import UserError

_LOOKED_AT = 64


@dataclass(frozen=True)
class Look:
    """Rows and columns of the pictures looked at, and the most channels that any has."""

    sizes: tuple[tuple[int, int], ...]
    channels: int

    def mean_area(self, shorter: int | None) -> float:
        """Pixels of a picture, on average, once its shorter side is this at most."""
        areas = []
        for rows, columns in self.sizes:
            shrink = 1.0 if shorter is None else min(shorter / min(rows, columns), 1.0)
            areas.append(rows * columns * shrink**2)
        return sum(areas) / len(areas)


def look(samples: Samples) -> Look:
    """Some pictures spread over the samples; one that is broken is told of later, with all the others."""
    step = max(len(samples) // _LOOKED_AT, 1)
    sizes, channels, complaint = [], set(), None
    for i in islice(range(0, len(samples), step), _LOOKED_AT):
        try:
            picture = samples.read(i)
        except UserError as error:
            complaint = error
            continue
        if isinstance(picture, Image.Image):
            sizes.append((picture.height, picture.width))
            channels.add(1 if picture.mode in ("1", "L") or picture.mode.startswith("I") else 3)
        else:
            rows, columns = np.shape(picture)[:2]
            sizes.append((rows, columns))
            channels.add(1 if picture.ndim == 2 else picture.shape[2])
    if not sizes and complaint:
        raise complaint
    return Look(tuple(sizes), max(channels))
