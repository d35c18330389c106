"""How attention, probes and gradients changed over the epochs of a run, a line a layer."""

from pathlib import Path

from vitlab.explain.drawing.figure import QUIET, colour_map, figure, label, png
from vitlab.explain.epochs import Row, read

_PANELS = {
    "distance": "how far heads look, in pixels",
    "entropy": "entropy of what a patch looks at, in bits",
    "neighbours": "named rightly by nearest neighbours",
    "gradient": "norm of the gradient, last step of the epoch",
}


def draw(watched: Path) -> bytes:
    """Four panels over epochs; dark lines are the first layers, light ones the last."""
    found = read(watched)
    layers = sorted({row.layer for row in found})
    made = figure(12, 3.4, "How it was learned: dark lines are the first layers, light ones the last")
    shades = colour_map()
    for axes, (column, words) in zip(made.subplots(1, len(_PANELS)), _PANELS.items(), strict=True):
        for layer in layers:
            points = [
                (row.epoch, value) for row in found if row.layer == layer and (value := _value(row, column)) is not None
            ]
            if points:
                shade = shades(0.05 + 0.8 * layer / max(len(layers) - 1, 1))
                axes.plot(*zip(*points, strict=True), color=shade, linewidth=1.3)
        label(axes, words)
        if column == "gradient":
            axes.set_yscale("log")
        axes.set_xlabel("epoch", fontsize=8, color=QUIET)
        axes.tick_params(labelsize=7, colors=QUIET)
        axes.spines[["top", "right"]].set_visible(False)
    return png(made)


def _value(row: Row, column: str) -> float | None:
    value: float | None = getattr(row, column)
    return value
