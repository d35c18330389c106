"""First values: their spread measured, biases and norms, what is left alone."""

import math
from statistics import NormalDist

import pytest
import torch
from torch import nn

from vitlab.parts.init import Init, Normal, Truncated, Xavier
from vitlab.parts.part import Site
from vitlab.parts.performer import Performer
from vitlab.parts.residual import Scale

SCHEMES = list(Init.kinds)


def _cut_std(at: float) -> float:
    """The standard deviation of a standard normal cut at plus and minus so many of its own."""
    inside = 2 * NormalDist().cdf(at) - 1
    return math.sqrt(1 - 2 * at * NormalDist().pdf(at) / inside)


def _std(layer: nn.Module) -> float:
    return float(layer.weight.detach().std())


def _layers() -> nn.ModuleDict:
    torch.manual_seed(0)
    layers = {
        "linear": nn.Linear(300, 400),
        "conv": nn.Conv2d(30, 40, 8),
        "layer": nn.LayerNorm(8),
        "batch": nn.BatchNorm2d(8),
        "table": nn.Embedding(400, 300),
    }
    for layer in layers.values():
        for parameter in layer.parameters():
            nn.init.constant_(parameter, 7.0)  # whatever it was
    return nn.ModuleDict(layers)


@pytest.mark.parametrize("std", [0.02, 0.1])
def test_truncated_is_normal_cut_at_two_standard_deviations(std):
    layers = _layers()
    Truncated(std=std).start(layers)
    for layer in (layers["linear"], layers["conv"], layers["table"]):
        weight = layer.weight.detach()
        assert _std(layer) == pytest.approx(_cut_std(2) * std, rel=0.02)
        assert float(weight.abs().max()) <= 2 * std * 1.0001
        assert float(weight.mean()) == pytest.approx(0, abs=0.02 * std)


@pytest.mark.parametrize("std", [0.02, 0.1])
def test_normal_has_kaimings_spread_for_convolutions(std):
    layers = _layers()
    Normal(std=std).start(layers)
    for name in ("linear", "table"):
        assert _std(layers[name]) == pytest.approx(std, rel=0.02)
        assert float(layers[name].weight.detach().abs().max()) > 3 * std  # not cut
    assert _std(layers["conv"]) == pytest.approx(math.sqrt(2 / (40 * 8 * 8)), rel=0.02)


def test_xavier_keeps_the_scale_of_a_signal():
    layers = _layers()
    Xavier().start(layers)
    linear = layers["linear"]
    assert _std(linear) == pytest.approx(math.sqrt(2 / (300 + 400)), rel=0.02)
    assert float(linear.weight.detach().abs().max()) <= math.sqrt(6 / (300 + 400))  # uniform
    assert _std(layers["conv"]) == pytest.approx(math.sqrt(1 / (30 * 8 * 8)), rel=0.02)
    assert _std(layers["table"]) == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize("kind", SCHEMES)
def test_biases_start_at_zero_and_norms_at_one_and_zero(kind):
    layers = _layers()
    Init.model_validate(kind).start(layers)
    for name in ("linear", "conv", "layer", "batch"):
        assert torch.count_nonzero(layers[name].bias) == 0
    for name in ("layer", "batch"):
        assert torch.equal(layers[name].weight, torch.ones(8))


@pytest.mark.parametrize("kind", SCHEMES)
@pytest.mark.parametrize(("vectors", "std"), [("zeros", 0.0), ("unit", 1.0)])
def test_vectors_may_start_otherwise_than_matrices(kind, vectors, std):
    layers = _layers()
    Init.model_validate({"kind": kind, "vectors": vectors}).start(layers)
    assert _std(layers["table"]) == pytest.approx(std, rel=0.02)
    assert 0.01 < _std(layers["linear"]) < 0.06


@pytest.mark.parametrize("kind", SCHEMES)
def test_modules_with_first_values_of_their_own_keep_them(kind):
    site = Site(width=8, grid=(2, 2))
    model = nn.ModuleList([Scale(start=0.25).build(site), Performer(features=4).build(1, 8, site)])
    directions = model[1].directions.clone()
    Init.model_validate(kind).start(model)
    assert torch.equal(model[0].gamma, torch.full((8,), 0.25))
    assert torch.equal(model[1].directions, directions)


@pytest.mark.parametrize("kind", SCHEMES)
def test_the_same_seed_gives_the_same_first_values(kind):
    one, other = _layers(), _layers()
    for layers in (one, other):
        torch.manual_seed(3)
        Init.model_validate(kind).start(layers)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
