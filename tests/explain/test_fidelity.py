"""Deletion and insertion against loops, a model whose truth is known, and arithmetic on paper."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.explain import naive
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess
from vitlab.explain import fidelity as module
from vitlab.explain.fidelity import STEPS, Fidelity, area, blurred, curves, fidelity, interval, ranking
from vitlab.explain.methods.known import METHODS, chosen
from vitlab.explain.methods.method import Method


class OneCorner(nn.Module):
    """A model that reads the first patch and nothing else."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(4.0))
        self.patch = nn.Identity()

    def forward(self, images):
        seen = self.weight * images[:, :, :2, :2].mean(dim=(1, 2, 3))
        return torch.stack([seen, -seen], dim=1)


def bundle(model):
    described = naive.SMALL.change(classes=2)
    given = Preprocess(size=(6, 10), channels=2, mean=(0.4,) * 2, std=(0.2,) * 2)
    return Bundle(model, Card(blueprint=described, preprocess=given, classes=("no", "yes")))


def truth(model, images, targets):
    heat = torch.zeros(len(images), 3, 5)
    heat[:, 0, 0] = 1
    return heat


def lie(model, images, targets):
    return -truth(model, images, targets)


@pytest.fixture
def images():
    return torch.randint(0, 256, (40, 2, 6, 10), dtype=torch.uint8)


@pytest.fixture
def _patches(monkeypatch):
    monkeypatch.setattr(module, "cells", lambda *_: (3, 5))
    monkeypatch.setitem(module.__dict__, "RANDOM", module.RANDOM)


@pytest.mark.usefixtures("_patches")
def test_a_true_explanation_is_believed_and_a_false_one_is_not(images):
    found = fidelity(bundle(OneCorner()), images, [Method("lie", lie), Method("truth", truth)])
    assert [score.method for score in found.scores] == ["truth", "random", "lie"]
    best, chance, worst = found.scores
    assert best.verdict == "better than chance"
    assert worst.verdict == "worse than chance"
    assert (chance.gain.low, chance.gain.high) == (0, 0)
    assert best.deletion.value < chance.deletion.value < worst.deletion.value
    assert best.insertion.value > chance.insertion.value > worst.insertion.value
    assert str(found).endswith("believe truth most")


def test_curves_agree_with_loops():
    model = naive.small()
    x, targets = torch.randn(3, 2, 6, 10), torch.tensor([3, 1, 0])
    ranks = ranking(torch.randn(3, 3, 5))
    for inserting in (False, True):
        found = curves(model, x, targets, ranks, inserting=inserting)
        assert found.shape == (3, STEPS + 1)
        for i in range(3):
            for step in (0, 5, STEPS):
                image = (blurred(x[i : i + 1]) if inserting else x[i : i + 1]).clone()
                for r in range(3):
                    for c in range(5):
                        if ranks[i, r, c] < round(step * 15 / STEPS):
                            here = (slice(None), slice(None), slice(2 * r, 2 * r + 2), slice(2 * c, 2 * c + 2))
                            image[here] = x[i : i + 1][here] if inserting else 0
                with torch.no_grad():
                    expected = model(image).softmax(dim=1)[0, targets[i]]
                assert abs(found[i, step] - float(expected)) < 1e-6


def test_curves_begin_and_end_where_they_must():
    model = naive.small()
    x, targets = torch.randn(2, 2, 6, 10), torch.tensor([3, 1])
    ranks = ranking(torch.randn(2, 3, 5))
    with torch.no_grad():
        whole = model(x).softmax(dim=1)[[0, 1], targets].double().numpy()
    np.testing.assert_allclose(curves(model, x, targets, ranks, inserting=False)[:, 0], whole, rtol=1e-6)
    np.testing.assert_allclose(curves(model, x, targets, ranks, inserting=True)[:, -1], whole, rtol=1e-6)


def test_ranks_count_from_the_most_important_and_draw_lots_for_equals():
    assert ranking(torch.tensor([[[0.1, 0.9], [0.5, -2.0]]])).tolist() == [[[2, 0], [1, 3]]]
    equal = ranking(torch.zeros(1, 8, 8)).flatten()
    assert equal.sort().values.tolist() == list(range(64))
    assert equal.tolist() != list(range(64))


def test_the_area_is_that_of_trapezoids():
    assert area(np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 0.0], [1.0, 0.0, 0.0]])).tolist() == [1.0, 0.5, 0.25]


def test_the_interval_is_that_of_the_mean():
    values = np.random.default_rng(1).normal(3, 2, 400)
    found = interval(values)
    half = 1.96 * values.std() / 20
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.05)
    assert found.high == pytest.approx(values.mean() + half, abs=0.05)


def test_every_method_is_scored_on_a_model_of_ours():
    model = naive.small(block__attention__core={"kind": "linformer", "rank": 4}, classes=2)
    found = fidelity(bundle(model), torch.randint(0, 256, (4, 2, 6, 10), dtype=torch.uint8), chosen())
    assert {score.method for score in found.scores} == {*METHODS, "random"} - {"rollout"}
    assert "mix with signs" in found.refused["rollout"]
    assert Fidelity.model_validate_json(found.to_json()) == found
    assert found.places == (3, 5)
