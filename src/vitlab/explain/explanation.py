"""What a model looked at in one image: its attention layer by layer, and the map of every method, as arrays.

    found = vitlab.explain(bundle, "cat.jpg")
    found.layers[-1].mean            # (N, N): who looked at whom, averaged over heads; row by row shares of one
    found.layers[-1].heads           # (H, rows, columns): where the tokens that the head reads had looked
    found.heat["rollout"]            # (rows, columns), on the method's own grid

In a notebook it shows itself.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vitlab.bundle import Prediction

Array = NDArray[np.float32]
Pixels = NDArray[np.uint8]
Pair = tuple[int, int]


@dataclass(frozen=True, repr=False)
class Layer:
    """One attention layer: tokens before the patches come first, then the patches row by row."""

    name: str
    grid: Pair
    prefix: tuple[str, ...]  # names of the tokens before the patches
    mean: Array  # (N, N)
    reading: Array  # (H, N): what was looked at by the tokens that the head reads
    every: Array | None  # (H, N, N), where asked for

    @property
    def heads(self) -> Array:
        """(H, rows, columns): what was looked at by the tokens that the head reads, patches alone."""
        return self.reading[:, len(self.prefix) :].reshape(-1, *self.grid)

    def __repr__(self) -> str:
        return f"Layer({self.name}, {len(self.reading)} heads, {self.grid[0]}x{self.grid[1]} patches)"


@dataclass(frozen=True, repr=False)
class Explanation:
    """All of it about one image. `refused` says in a sentence why a method has no map for this model."""

    where: str
    image: Pixels  # (rows, columns[, 3]), as the model saw it
    prediction: "Prediction"
    target: str  # the class that is explained
    layers: tuple[Layer, ...]
    heat: dict[str, Array]
    refused: dict[str, str]
    truth: str | None = None
    scales: tuple[Array, ...] = ()  # of a convolutional network: the maps of each stage, (channels, rows, columns)

    @property
    def right(self) -> bool | None:
        """Whether the answer was right, where the truth is known."""
        return None if self.truth is None else self.truth == self.prediction.label

    @property
    def summary(self) -> str:
        """The answer and, where known, the truth."""
        said = str(self.prediction)
        return said if self.truth is None else f"{said}, {'right' if self.right else f'in truth {self.truth}'}"

    def save(self, path: str | Path) -> None:
        """Draw every map to a PNG file."""
        from vitlab.explain.drawing.overlays import methods
        from vitlab.files import replacing

        with replacing(Path(path)) as beside:
            beside.write_bytes(methods(self))

    def to_json(self) -> str:
        """What scripts read: the answer and the maps of the methods."""
        import json

        return json.dumps(self.facts())

    def facts(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "image": self.where,
            "label": self.prediction.label,
            "probability": self.prediction.probability,
            "truth": self.truth,
            "explained": self.target,
            "maps": {name: [[float(f"{v:.6g}") for v in row] for row in heat] for name, heat in self.heat.items()},
            "refused": self.refused,
        }

    def __repr__(self) -> str:
        return f"Explanation({self.where}: {self.summary}; {len(self.layers)} layers; {', '.join(self.heat)})"

    def _repr_png_(self) -> bytes | None:
        from vitlab.errors import UserError
        from vitlab.explain.drawing.overlays import methods

        try:
            return methods(self)
        except UserError:  # no matplotlib: a notebook shows the words
            return None
