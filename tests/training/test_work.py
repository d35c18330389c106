"""What a run computes, against counts by hand."""

import pytest
import torch

import vitlab
from vitlab.models.cost import cost
from vitlab.training.recipe import recipe
from vitlab.training.work import Work

NAME = "vit_few_patch2_8"


def by_hand(tokens: int, patches: int) -> int:
    """Operations of an image there and back: patches of 2x2, 4 blocks of 64 with MLPs of 256, 10 classes.

    Every product but the first costs two more on the way back; the first has no gradient of its input.
    """
    block = tokens * 64 * (3 * 64 + 64 + 2 * 256) + 2 * tokens * tokens * 64
    return 2 * (2 * patches * 4 * 64 + 3 * (4 * block + 64 * 10))


def test_whole_images_are_counted_as_by_hand():
    blueprint = vitlab.blueprint(NAME)
    work = Work(blueprint, recipe("few", {}))
    assert work.at(0.0) == work.at(1.0) == by_hand(tokens=17, patches=16)
    assert work.at(0.5) == pytest.approx(6e9 * cost(blueprint, 1).gmacs, rel=0.01)
    assert [work.until(way) for way in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]


def test_stages_compute_less():
    stages = ({"until": 0.25, "side": 4}, {"until": 0.75, "keep": 0.5})
    work = Work(vitlab.blueprint(NAME), recipe("few", {"stages": stages}))
    whole = by_hand(17, 16)
    first, second = by_hand(5, 4), by_hand(9, 16)  # all patches are told their place before half of them go
    assert [work.at(way) for way in (0.0, 0.25, 0.74, 0.75, 1.0)] == [first, second, second, whole, whole]
    assert work.until(0.25) == pytest.approx(0.25 * first / whole)
    assert work.until(1.0) == pytest.approx((0.25 * first + 0.5 * second + 0.25 * whole) / whole)


def test_frozen_blocks_are_passed_one_way():
    blueprint = vitlab.blueprint(NAME)
    frozen = Work(blueprint, recipe("few", {"freeze": "all"})).at(0.0)
    assert frozen == pytest.approx(2e9 * cost(blueprint, 1).gmacs, rel=0.01)


def test_counting_draws_no_random_numbers():
    """A run that shows its progress and one that does not are the same run."""
    before = torch.get_rng_state()
    Work(vitlab.blueprint(NAME), recipe("few", {"stages": ({"until": 0.5, "keep": 0.5},)}))
    assert torch.equal(torch.get_rng_state(), before)
