"""The heads of a model in one picture (how far they look, how evenly, what they add), and what each layer knows."""

from typing import TYPE_CHECKING

import numpy as np

from vitlab.explain.drawing.figure import ACCENT, INK, LINE, QUIET, colour_map, figure, label, png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vitlab.explain.anatomy.everything import Anatomy
    from vitlab.explain.anatomy.probes import Probe

KINDS = {"local": LINE, "global": ACCENT, "sink": QUIET}


def heads(found: "Anatomy") -> bytes:
    """Distance and entropy of each head by layer; the accuracy lost without it as a table of colours."""
    made = figure(12, 3.9, f"{found.model}: {len(found.heads)} heads")
    distance, entropy, lost = made.subplots(1, 3)
    for kind, colour in KINDS.items():
        of = [head for head in found.heads if head.kind == kind]
        how = {"s": 26, "color": colour, "alpha": 0.75, "label": f"{len(of)} {kind}", "linewidths": 0}
        distance.scatter([head.layer for head in of], [head.distance for head in of], **how)
        sure = [head for head in of if head.entropy is not None]
        entropy.scatter([head.layer for head in sure], [head.entropy for head in sure], **how)
    evens = {head.layer: head.even for head in found.heads}
    distance.plot(list(evens), list(evens.values()), color=INK, linewidth=0.8, linestyle="--")
    label(distance, "how far each head looks, in pixels (dashed: everywhere alike)")
    label(entropy, "entropy of what a patch looks at, in bits")
    entropy.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    _lost(lost, found)
    for axes in (distance, entropy):
        axes.set_ylim(bottom=0)
        _by_layer(axes, sorted(evens))
    return png(made)


def probes(found: "Anatomy") -> bytes:
    """The accuracy of both probes by layer, with the model's own."""
    made = figure(6.2, 3.6, f"{found.model}: what each layer knows")
    axes = made.subplots()
    _curves(axes, found.probes)
    axes.axhline(found.accuracy, color=INK, linewidth=0.8, linestyle="--", label="the model itself")
    axes.legend(fontsize=7, frameon=False)
    label(axes, f"share of {found.images} held-out images named rightly from one layer's tokens")
    _by_layer(axes, [probe.layer for probe in found.probes])
    return png(made)


def _curves(axes: "Axes", found: "tuple[Probe, ...]") -> None:
    layers = [probe.layer for probe in found]
    axes.plot(layers, [probe.linear for probe in found], "o-", color=LINE, label="linear probe", markersize=4)
    axes.plot(
        layers, [probe.neighbours for probe in found], "o--", color=ACCENT, label="ten nearest neighbours", markersize=4
    )
    axes.set_ylim(0, 1)


def _lost(axes: "Axes", found: "Anatomy") -> None:
    shape = (1 + max(drop.layer for drop in found.drops), 1 + max(drop.head for drop in found.drops))
    table = np.full(shape, np.nan)
    for drop in found.drops:
        table[drop.layer, drop.head] = 100 * drop.drop
    drawn = axes.imshow(table, cmap=colour_map(), vmin=0, vmax=max(np.nanmax(table), 1), aspect="auto")
    axes.figure.colorbar(drawn, ax=axes, fraction=0.05).ax.tick_params(labelsize=7)
    label(axes, "accuracy lost without the head, in points")
    axes.set_xlabel("head", fontsize=8, color=QUIET)
    axes.set_ylabel("layer", fontsize=8, color=QUIET)
    axes.tick_params(labelsize=7, colors=QUIET)
    axes.locator_params(integer=True)


def _by_layer(axes: "Axes", layers: list[int]) -> None:
    axes.set_xlabel("layer", fontsize=8, color=QUIET)
    axes.set_xticks(layers if len(layers) <= 16 else layers[::2])
    axes.tick_params(labelsize=7, colors=QUIET)
    axes.spines[["top", "right"]].set_visible(False)
