"""What is read off the weights alone: how alike positions are, the waves they are made of, patterns of the filters."""

import math

import numpy as np

from vitlab.explain.anatomy import filters as first_layer
from vitlab.explain.anatomy import positions as places
from vitlab.explain.drawing.figure import colour_map, figure, label, panels, png
from vitlab.models.blueprint import Model

_MOST_TILES = 14  # a side
_PATTERNS = 28


def positions(model: Model) -> bytes:
    """A tile for each place (or each few), showing how like its vector those of all places are; the waves beside."""
    found, grid = places.vectors(model)
    cosines = places.alike(found).reshape(*grid, *grid).numpy()
    step = math.ceil(max(grid) / _MOST_TILES)
    cosines = cosines[::step, ::step]
    rows, columns = cosines.shape[:2]
    tiled = np.full((rows * (grid[0] + 1) - 1, columns * (grid[1] + 1) - 1), np.nan, dtype=np.float32)
    for r in range(rows):
        for c in range(columns):
            down, across = r * (grid[0] + 1), c * (grid[1] + 1)
            tiled[down : down + grid[0], across : across + grid[1]] = cosines[r, c]
    made = figure(10.5, 5, f"{model.blueprint.name}: what it knows of places")
    ((left, right),) = panels(made, 1, 2)
    drawn = left.imshow(tiled, cmap=colour_map(), interpolation="nearest")
    made.colorbar(drawn, ax=left, fraction=0.045).ax.tick_params(labelsize=7)
    label(left, "how like the position vector of each place (a tile) those of all places are, by cosine")
    power = places.waves(found, grid).numpy()
    power[grid[0] // 2, grid[1] // 2] = np.nan  # the mean, which was taken off
    drawn = right.imshow(np.log10(power + 1e-6), cmap=colour_map(), interpolation="nearest")
    made.colorbar(drawn, ax=right, fraction=0.045).ax.tick_params(labelsize=7)
    label(right, "the waves they are made of: log10 of the share of power, slow ones in the middle")
    return png(made)


def filters(model: Model) -> bytes:
    """The first patterns of the first layer's filters, the most of them first."""
    patterns, shares = first_layer.components(first_layer.filters(model), _PATTERNS)
    columns = 7
    rows = math.ceil(len(patterns) / columns)
    made = figure(
        8, 0.7 + 1.2 * rows, f"{model.blueprint.name}: patterns of the first layer, with their share of its filters"
    )
    axes = panels(made, rows, columns)
    for place, pattern, share in zip(axes.flat, patterns.numpy(), shares.tolist(), strict=False):
        largest = abs(pattern).max() or 1.0
        shown = 0.5 + 0.5 * pattern / largest
        place.imshow(
            shown.transpose(1, 2, 0) if len(shown) == 3 else shown[0], cmap="gray", vmin=0, vmax=1,
            interpolation="nearest",
        )  # fmt: skip
        label(place, f"{share:.1%}", fontsize=7)
    return png(made)
