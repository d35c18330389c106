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
