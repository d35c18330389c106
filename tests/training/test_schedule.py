"""The learning rate by step, against the formula written out."""

import math

import pytest

from vitlab.training.recipe import Recipe
from vitlab.training.schedule import factor, warmup_steps


def test_warmup_is_a_straight_line_to_the_top():
    at = factor(Recipe(warmup=10), steps=100)
    assert [at(step) for step in range(10)] == pytest.approx([(step + 1) / 10 for step in range(10)])


def test_cosine_falls_from_one_to_the_last_rate():
    recipe = Recipe(rate=1e-3, last_rate=1e-5, warmup=20)
    at = factor(recipe, steps=120)
    for step in range(20, 121):
        half = 0.5 * (1 + math.cos(math.pi * (step - 20) / 100))
        assert at(step) * 1e-3 == pytest.approx(1e-5 + (1e-3 - 1e-5) * half)
    assert at(20) == 1.0
    assert at(500) == pytest.approx(1e-2)  # beyond the end it rests


@pytest.mark.parametrize(
    ("warmup", "steps", "expected"), [(0.05, 1000, 50), (0.0, 1000, 0), (30, 1000, 30), (10_000, 100, 50), (0.9, 10, 5)]
)
def test_warmup_is_a_share_or_a_count_and_at_most_half(warmup, steps, expected):
    assert warmup_steps(Recipe(warmup=warmup), steps) == expected


def test_a_line_holds_and_then_falls_straight():
    at = factor(Recipe(rate=1e-3, warmup=20, decay={"kind": "linear", "hold": 0.25}), steps=120)
    assert [at(step) for step in (20, 30, 45)] == [1.0, 1.0, 1.0]  # a quarter of the hundred steps after the warmup
    assert [at(step) for step in (45, 60, 95, 120)] == pytest.approx([1.0, 0.8, 1 / 3, 0.0])
    plain = factor(Recipe(rate=1e-3, last_rate=1e-4, warmup=0, decay="linear"), steps=10)
    assert [plain(step) for step in range(11)] == pytest.approx([1 - 0.9 * step / 10 for step in range(11)])
