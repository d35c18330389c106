"""Charts as inline SVG, drawn without a library.

Colours come from the page's CSS variables, so a chart follows the light or dark theme and prints well. The SVG
is the plotting area alone and stretches with the page: places are percentages, and only the curves live in an
inner SVG that is stretched (with strokes that are not). Text therefore keeps its size on a phone, and axis
labels hang over the edges into margins that the style sheet reserves.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

# The height in CSS pixels; page.css reads it from the svg's own attribute. Label spacing needs to know it.
HEIGHT = 240
LABEL_GAP = 17
# More readings than pixels would only make the page heavy.
MOST_READINGS = 500
# With few points, a dot on each shows where something was measured.
FEW_POINTS = 15


@dataclass(frozen=True)
class Series:
    """One curve: its name on the chart, its CSS class, and its points (x, y), in the order of x."""

    name: str
    css: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Axis:
    """A range and its round ticks; `at` places a value on it as a share of its length."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high end."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5


def round_step(span: float, about: int) -> float:
    """The step 1, 2 or 5 times a power of ten that cuts a span into about so many pieces."""
    raw = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))


def value_axis(low: float, high: float, about: int = 5) -> Axis:
    """An axis that ends on round ticks outside the values."""
    if high <= low:
        room = abs(low) * 0.1 or 1.0
        low, high = low - room, high + room
    step = round_step(high - low, about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(k * step, 12) for k in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def epoch_axis(first: int, last: int, about: int = 5) -> Axis:
    """An axis from the first to the last epoch, with round whole ticks inside."""
    if last <= first:
        return Axis(first, first, (first,))
    step = max(1, round(round_step(last - first, about)))
    ticks = [k * step for k in range(math.ceil(first / step), last // step + 1)]
    return Axis(first, last, tuple(ticks) or (first, last))


def tick_text(value: float, axis: Axis, percent: bool = False) -> str:
    """A tick's label with as many decimals as the step needs."""
    step = axis.ticks[1] - axis.ticks[0] if len(axis.ticks) > 1 else 1.0
    if percent:
        value, step = 100 * value, 100 * step
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{decimals}f}" + ("%" if percent else "")


def line_chart(
    title: str, series: Sequence[Series], epochs: Sequence[int], percent: bool = False, by: str = "epoch"
) -> Markup:
    """Curves over epochs, or over steps, named at their ends; `data-readings` tells page.js what to say at each."""
    drawn = [s for s in (_finite(s) for s in series) if s.points]
    if not drawn:
        return Markup("")
    values = [y for s in drawn for _, y in s.points]
    across = epoch_axis(min(epochs), max(epochs))
    # Losses are read against zero; accuracies too, unless all of them are crowded near the top.
    low = min(values) if percent and min(values) > 0.5 else min(0.0, *values)
    up = value_axis(low, max(values))
    parts = [*_grid(across, up, percent), *_curves(drawn, across, up), *_names(drawn, across, up)]
    dots = "".join(f'<circle class="{s.css}" r="4.5"></circle>' for s in drawn)
    parts.append(f'<g class="cursor"><line y1="0" y2="100%"></line>{dots}</g>')
    lines = "\n    ".join(parts)
    spoken = escape(_spoken(title, drawn, percent, by))
    readings = escape(json.dumps(_readings(drawn, epochs, across, up, percent), separators=(",", ":")))
    return Markup(
        f'<div class="plot" data-by="{escape(by)}" data-readings="{readings}">\n'
        f'  <svg class="lines" role="img" height="{HEIGHT}" aria-label="{spoken}">\n'
        f"    {lines}\n  </svg>\n</div>"
    )


def share_bar(share: float) -> Markup:
    """A bar as long as a share of one; the figure stands beside it in the table, so readers skip the drawing."""
    width = 100 * min(max(share, 0.0), 1.0)
    return Markup(
        f'<svg class="bar" aria-hidden="true"><rect width="100%" class="track"></rect>'
        f'<rect width="{width:.4g}%" class="fill"></rect></svg>'
    )


def interval_dot(value: float | None, low: float, high: float) -> Markup:
    """A share of one as a dot, with its interval as a line, on a track from 0 to 1."""
    track = '<line class="track" x1="0" x2="100%" y1="50%" y2="50%"></line>'
    if value is None:
        return Markup(f'<svg class="dot" aria-hidden="true">{track}</svg>')
    return Markup(
        f'<svg class="dot" aria-hidden="true">{track}'
        f'<line class="span" x1="{100 * low:.1f}%" x2="{100 * high:.1f}%" y1="50%" y2="50%"></line>'
        f'<circle cx="{100 * value:.1f}%" cy="50%" r="3.5"></circle></svg>'
    )


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Label places moved apart to keep a gap, each near its own, all within bounds where there is room."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    moved = [places[k] for k in order]
    for k in range(1, len(moved)):
        moved[k] = max(moved[k], moved[k - 1] + gap)
    # Pushing down may have run out of the bottom, so the last goes back up and pushes the others.
    for k in range(len(moved) - 1, -1, -1):
        moved[k] = min(moved[k], high - gap * (len(moved) - 1 - k))
    for k in range(len(moved)):
        moved[k] = max(moved[k], low + gap * k)
    result = [0.0] * len(places)
    for k, place in zip(order, moved, strict=True):
        result[k] = place
    return result


def _finite(series: Series) -> Series:
    points = tuple((x, y) for x, y in series.points if math.isfinite(y))
    return Series(series.name, series.css, points)


def _grid(across: Axis, up: Axis, percent: bool) -> list[str]:
    parts = []
    for tick in up.ticks:
        y = _percent(1 - up.at(tick))
        kind = "axis" if tick == up.low else "grid"
        parts.append(f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"></line>')
        parts.append(f'<text class="y" x="0" y="{y}" dx="-8" dy=".33em">{tick_text(tick, up, percent)}</text>')
    for tick in across.ticks:
        x = _percent(across.at(tick))
        parts.append(f'<text class="x" x="{x}" y="100%" dy="1.6em">{tick:,.0f}</text>')
    return parts


def _curves(drawn: Sequence[Series], across: Axis, up: Axis) -> list[str]:
    """The lines in a stretched inner SVG, and dots outside it, where circles stay round."""
    lines, dots = [], []
    for s in drawn:
        places = [(across.at(x), 1 - up.at(y)) for x, y in s.points]
        path = " ".join(f"{1000 * x:.0f},{1000 * y:.0f}" for x, y in places)
        lines.append(f'<polyline class="{s.css}" points="{path}"></polyline>')
        shown = places if len(places) <= FEW_POINTS else places[-1:]
        dots += [f'<circle class="{s.css}" cx="{_percent(x)}" cy="{_percent(y)}" r="3"></circle>' for x, y in shown]
    inner = '<svg class="stretched" viewBox="0 0 1000 1000" width="100%" height="100%" preserveAspectRatio="none">'
    return [inner + "".join(lines) + "</svg>", *dots]


def _names(drawn: Sequence[Series], across: Axis, up: Axis) -> list[str]:
    """Each curve's name beside its last point, moved apart where two would overlap."""
    wanted = [HEIGHT * (1 - up.at(s.points[-1][1])) for s in drawn]
    places = spread(wanted, LABEL_GAP, 0, HEIGHT)
    return [
        f'<text class="name {s.css}" x="100%" y="{y:.1f}" dx="10" dy=".33em">{escape(s.name)}</text>'
        for s, y in zip(drawn, places, strict=True)
    ]


def _readings(drawn: Sequence[Series], epochs: Sequence[int], across: Axis, up: Axis, percent: bool) -> list[object]:
    """For each epoch: its place across, each curve's place down (or null), and the words."""
    at = [dict(s.points) for s in drawn]
    step = math.ceil(len(epochs) / MOST_READINGS)
    # Counted from the end, so that the last epoch is always among them.
    kept = list(reversed(epochs[::-1][::step]))
    readings: list[object] = []
    for epoch in kept:
        places = [round(100 * (1 - up.at(points[epoch])), 2) if epoch in points else None for points in at]
        said = [f"{s.name} {_said(p[epoch], percent)}" for s, p in zip(drawn, at, strict=True) if epoch in p]
        readings.append([epoch, round(100 * across.at(epoch), 2), places, ", ".join(said) or "nothing measured"])
    return readings


def _spoken(title: str, drawn: Sequence[Series], percent: bool, by: str) -> str:
    """The chart in a sentence, for somebody who cannot see it; the figures are in the table below it."""
    told = [
        f"{s.name} from {_said(s.points[0][1], percent)} to {_said(s.points[-1][1], percent)}"
        if len(s.points) > 1
        else f"{s.name} {_said(s.points[0][1], percent)}"
        for s in drawn
    ]
    return f"{title} by {by}: {'; '.join(told)}."


def _said(value: float, percent: bool) -> str:
    return f"{100 * value:.2f}%" if percent else f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"
