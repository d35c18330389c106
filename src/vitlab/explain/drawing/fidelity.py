"""Deletion and insertion curves of every method, and how much each is better than chance."""

from typing import TYPE_CHECKING

import numpy as np

from vitlab.explain.drawing.figure import INK, LINE, QUIET, figure, label, png
from vitlab.explain.methods.titles import TITLES

if TYPE_CHECKING:
    from vitlab.explain.fidelity import Fidelity


def curves(found: "Fidelity") -> bytes:
    """Two panels of curves, and the gains with their intervals."""
    made = figure(11, 4.2, f"Which explanation to believe: {found.images} images")
    deletion, insertion, gains = made.subplots(1, 3)
    share = np.linspace(0, 1, len(found.scores[0].deleted))
    colours = _colours(len(found.scores))
    for place, score in enumerate(found.scores):
        chance = score.method == "random"
        how = {"color": INK if chance else colours[place], "linestyle": "--" if chance else "-", "linewidth": 1.4}
        deletion.plot(share, score.deleted, **how)
        insertion.plot(share, score.inserted, label=TITLES[score.method], **how)
    for axes, words in ((deletion, "deletion: lower is better"), (insertion, "insertion: higher is better")):
        label(axes, words)
        axes.set_xlabel("share of places, most important first", fontsize=8, color=QUIET)
        axes.set_ylim(0, 1)
    deletion.set_ylabel("probability of the class", fontsize=8, color=QUIET)
    insertion.legend(fontsize=6.5, frameon=False, loc="lower right")
    compared = [score for score in found.scores if score.method != "random"][::-1]
    for place, score in enumerate(compared):
        sure = score.gain.low > 0
        gains.plot(
            [score.gain.low, score.gain.high], [place, place], color=LINE if sure else QUIET, linewidth=3, alpha=0.5
        )
        gains.plot(score.gain.value, place, "o", color=LINE if sure else QUIET, markersize=5)
    gains.axvline(0, color=INK, linewidth=0.8, linestyle="--")
    gains.set_yticks(range(len(compared)), [TITLES[score.method] for score in compared], fontsize=7)
    label(gains, "gain over a ranking by lot, 95 % interval")
    for axes in (deletion, insertion, gains):
        axes.tick_params(labelsize=7, colors=QUIET)
        axes.spines[["top", "right"]].set_visible(False)
    return png(made)


def _colours(count: int) -> list[tuple[float, ...]]:
    from matplotlib import colormaps

    return [tuple(colormaps["tab10"](i % 10)) for i in range(count)]
