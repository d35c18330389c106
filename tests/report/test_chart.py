"""Axes with round ticks, places on them, and labels that never overlap."""

import html
import json
import math
import re
from xml.etree import ElementTree

import pytest

from vitlab.report import chart


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 2.3, (0, 0.5, 1, 1.5, 2, 2.5)),
        (0.91, 0.989, (0.9, 0.92, 0.94, 0.96, 0.98, 1)),
        (0, 0.0041, (0, 0.001, 0.002, 0.003, 0.004, 0.005)),
        (3, 3, (2.6, 2.8, 3, 3.2, 3.4)),
        (0, 0, (-1, -0.5, 0, 0.5, 1)),
    ],
)
def test_value_ticks_are_round_and_enclose(low: float, high: float, ticks: tuple[float, ...]) -> None:
    axis = chart.value_axis(low, high)
    assert axis.ticks == pytest.approx(ticks)
    assert (axis.low, axis.high) == (axis.ticks[0], axis.ticks[-1])


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (1, 40, (10, 20, 30, 40)),
        (0, 9, (0, 2, 4, 6, 8)),
        (1, 3, (1, 2, 3)),
        (5, 5, (5,)),
        (0, 300, (0, 100, 200, 300)),
    ],
)
def test_epoch_ticks_are_round_and_whole(first: int, last: int, ticks: tuple[int, ...]) -> None:
    assert chart.epoch_axis(first, last).ticks == ticks


def test_places_and_tick_texts() -> None:
    axis = chart.value_axis(0, 2.3)
    assert axis.at(0) == 0
    assert axis.at(2.5) == 1
    assert axis.at(1.25) == 0.5
    assert chart.tick_text(0.5, axis) == "0.5"
    assert chart.tick_text(0.92, chart.value_axis(0.91, 0.989), percent=True) == "92%"
    assert chart.tick_text(0.995, chart.value_axis(0.991, 1.0), percent=True) == "99.5%"


def test_labels_keep_their_distance() -> None:
    assert chart.spread([100, 104], 17, 0, 240) == [100, 117]
    assert chart.spread([238, 236], 17, 0, 240) == [240, 223]
    assert chart.spread([10, 200], 17, 0, 240) == [10, 200]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_a_chart_places_its_points() -> None:
    train = chart.Series("train", "train", ((1, 2.0), (2, 1.0), (3, 0.0)))
    validation = chart.Series("validation", "validation", ((1, 1.0), (3, 0.5)))
    drawn = parsed(chart.line_chart("Loss", [train, validation], [1, 2, 3]))
    lines = {line.get("class"): line.get("points") for line in drawn.iter("polyline")}
    assert lines == {"train": "0,0 500,500 1000,1000", "validation": "0,500 1000,750"}
    svg = drawn.find("svg")
    assert svg is not None
    assert svg.get("aria-label") == "Loss by epoch: train from 2 to 0; validation from 1 to 0.5."
    names = [(t.text, t.get("y")) for t in drawn.iter("text") if "name" in (t.get("class") or "")]
    assert names == [("train", "240.0"), ("validation", "180.0")]
    readings = json.loads(drawn.get("data-readings") or "")
    assert readings[0] == [1, 0.0, [0.0, 50.0], "train 2, validation 1"]
    assert readings[1] == [2, 50.0, [50.0, None], "train 1"]


def test_values_that_are_not_finite_are_not_drawn() -> None:
    series = chart.Series("train", "train", ((1, 1.0), (2, math.nan), (3, math.inf)))
    svg = chart.line_chart("Loss", [series], [1, 2, 3])
    assert re.search(r"\b(nan|inf)\b", svg) is None
    assert chart.line_chart("Loss", [chart.Series("train", "train", ((1, math.nan),))], [1]) == ""
    assert chart.line_chart("Loss", [], []) == ""


def test_one_epoch_and_very_many() -> None:
    one = parsed(chart.line_chart("Loss", [chart.Series("train", "train", ((4, 1.0),))], [4]))
    assert next(dot.get("cx") for dot in one.iter("circle")) == "50%"
    epochs = list(range(5001))
    series = chart.Series("train", "train", tuple((e, 1 / (e + 1)) for e in epochs))
    many = parsed(chart.line_chart("Loss", [series], epochs))
    readings = json.loads(html.unescape(many.get("data-readings") or ""))
    assert len(readings) <= chart.MOST_READINGS
    assert readings[-1][0] == 5000


def test_names_are_escaped() -> None:
    series = chart.Series("<b>&", "train", ((1, 1.0), (2, 2.0)))
    assert "<b>" not in chart.line_chart('"<i>', [series], [1, 2])


def test_small_drawings() -> None:
    assert 'width="25%" class="fill"' in chart.share_bar(0.25)
    assert 'cx="60.0%"' in chart.interval_dot(0.6, 0.3, 0.8)
    assert "circle" not in chart.interval_dot(None, 0, 1)
