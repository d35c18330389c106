"""Random features: against the features written out, and against the softmax they estimate."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from vitlab.parts.part import Site
from vitlab.parts.performer import Performer, orthogonal_directions

from . import naive

SITE = Site(width=16, grid=(2, 3))


def _features(x: Tensor, directions: Tensor) -> list[float]:
    """phi(x) = exp(w . x - |x|^2 / 2) for each direction w, with x scaled by E^(-1/4)."""
    x = x / len(x) ** 0.25
    return [math.exp(float(w @ x) - float(x @ x) / 2) for w in directions]


def test_the_core_equals_sums_of_products_of_features():
    core = Performer(features=10).build(2, 8, SITE).double()
    q, k, v = naive.qkv(2, 6, 8)
    expected = torch.zeros_like(q)
    for b in range(2):
        for h in range(2):
            seen = [_features(x, core.directions) for x in q[b, h]]
            shown = [_features(x, core.directions) for x in k[b, h]]
            # the floor that keeps the ratio finite: a millionth of the largest feature
            seen = [[f + 1e-6 * max(row) for f in row] for row in seen]
            floor = 1e-6 * max(f for row in shown for f in row)
            shown = [[f + floor for f in row] for row in shown]
            for i in range(6):
                weights = [sum(a * b for a, b in zip(seen[i], row, strict=True)) for row in shown]
                expected[b, h, i] = sum(w / sum(weights) * value for w, value in zip(weights, v[b, h], strict=True))
    assert_close(core(q, k, v), expected)


def test_with_more_features_it_comes_near_softmax():
    q, k, v = (0.4 * x for x in naive.qkv(1, 6, 8, images=1))
    exact = naive.attend(q, k, v)

    def error(features: int) -> float:
        """Root mean square over draws of the directions."""
        draws = [Performer(features=features).build(1, 8, SITE).double()(q, k, v) - exact for _ in range(20)]
        return float(torch.stack(draws).square().mean().sqrt())

    few, many, most = error(16), error(256), error(4096)
    # A Monte Carlo estimate: sixteen times the features, about a quarter of the error.
    assert 2.5 < few / many < 6
    assert 2.5 < many / most < 6
    assert most < 0.02 * float(exact.square().mean().sqrt())


def test_large_queries_and_keys_stay_finite():
    core = Performer(features=32).build(2, 8, SITE)
    q, k, v = (x.float() for x in naive.qkv(2, 6, 8))
    out = core(100 * q, 100 * k, v)
    assert out.isfinite().all()
    assert float(out.abs().max()) <= float(v.abs().max()) + 1e-5  # weighted means of values


@pytest.mark.parametrize(("features", "width"), [(8, 8), (20, 8), (3, 8)])
def test_directions_are_orthogonal_in_blocks_of_the_width(features, width):
    directions = orthogonal_directions(features, width)
    assert directions.shape == (features, width)
    for block in (directions / directions.norm(dim=1, keepdim=True)).split(width):
        assert_close(block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("features", [6, 8])
def test_directions_lean_to_no_side(features):
    """A factorisation that chose signs by the entries would leave every draw on one side of an axis."""
    draws = torch.stack([orthogonal_directions(features, 8) for _ in range(3000)])
    # means of 3,000 standard normals: five standard deviations are 0.09
    assert_close(draws.mean(dim=0), torch.zeros(features, 8), rtol=0, atol=0.09)
    assert_close(draws.square().mean(dim=0), torch.ones(features, 8), rtol=0, atol=0.15)


def test_directions_are_as_long_as_gaussian_vectors():
    lengths = orthogonal_directions(20_000, 8).norm(dim=1)
    assert float(lengths.square().mean()) == pytest.approx(8, rel=0.02)
    assert float(lengths.square().var()) == pytest.approx(16, rel=0.06)  # chi square of 8: variance 2 * 8


def test_directions_are_saved_with_the_weights():
    one, other = (Performer(features=4).build(1, 8, SITE) for _ in range(2))
    assert not torch.equal(one.directions, other.directions)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.directions, other.directions)
