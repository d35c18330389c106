"""Maps laid over their image, each with its label: one picture of all methods, one of all layers and heads."""

import math
from typing import Any

from numpy.typing import NDArray

from vitlab.explain.colours import enlarged, overlaid
from vitlab.explain.drawing.figure import colour_map, figure, label, panels, png, short
from vitlab.explain.explanation import Explanation
from vitlab.explain.methods.titles import TITLES

_SIDE = 224  # pixels that a panel has at least
_MOST_HEADS, _MOST_LAYERS = 16, 32


def methods(found: Explanation) -> bytes:
    """The image, then the map of each method over it, with a scale."""
    count = 1 + len(found.heat)
    columns = min(3, count) if count <= 3 else math.ceil(math.sqrt(1.4 * count))
    rows = math.ceil(count / columns)
    aspect = found.image.shape[0] / found.image.shape[1]
    made = figure(2.1 * columns, 0.75 + rows * (1.85 * aspect + 0.25), f"{short(found.where)}: {found.summary}")
    axes = panels(made, rows, columns)
    first, *others = list(axes.flat)
    first.imshow(enlarged(found.image, _SIDE), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    label(first, "what the model sees")
    for place, (name, heat) in zip(others, found.heat.items(), strict=False):
        place.imshow(overlaid(enlarged(found.image, _SIDE), heat), interpolation="nearest")
        label(place, TITLES[name])
    _scale(axes[:, -1], f"how much a place speaks for {short(found.target)}")
    return png(made)


def heads(found: Explanation) -> bytes | None:
    """A row a layer, a column a head: where the tokens that the head reads had looked. None without attention."""
    if not found.layers:
        return None
    layers = found.layers[:: math.ceil(len(found.layers) / _MOST_LAYERS)]
    columns = min(max(len(layer.heads) for layer in layers), _MOST_HEADS) + 1
    aspect = found.image.shape[0] / found.image.shape[1]
    made = figure(
        0.9 + 1.05 * columns, 0.6 + len(layers) * (1.0 * aspect + 0.05), f"{short(found.where)}: {found.summary}"
    )
    axes = panels(made, len(layers), columns)
    for at, (row, layer) in enumerate(zip(axes, layers, strict=True)):
        shown = [layer.heads.mean(axis=0), *layer.heads[: columns - 1]]
        for i, (place, heat) in enumerate(zip(row, shown, strict=False)):
            place.imshow(overlaid(enlarged(found.image, _SIDE // 2), heat), interpolation="nearest")
            if not at:
                label(place, f"head {i - 1}" if i else "mean of heads", fontsize=7)
        row[0].text(
            -0.06, 0.5, layer.name.removesuffix(".attention").replace("blocks.", "layer "), rotation=90, va="center",
            ha="right", fontsize=7, transform=row[0].transAxes,
        )  # fmt: skip
    _scale(axes[:, -1], f"what {_reader(found)} looked at, from nothing to the map's largest value")
    return png(made)


def _reader(found: Explanation) -> str:
    return "the class token" if "class token" in found.layers[-1].prefix else "the tokens that the head reads"


def _scale(beside: NDArray[Any], words: str) -> None:
    from matplotlib.cm import ScalarMappable

    last = beside[0].figure
    bar = last.colorbar(ScalarMappable(cmap=colour_map()), ax=beside, fraction=0.05, aspect=30, ticks=[0, 1])
    bar.ax.set_yticklabels(["least", "most"], fontsize=7)
    bar.set_label(words, fontsize=7)
    bar.outline.set_visible(False)
