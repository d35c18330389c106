"""The MLP against its equation."""

import math
from statistics import NormalDist

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.mlp import TwoLayer
from vitlab.parts.part import Site

ACTIVATIONS = {
    "gelu": lambda x: x * NormalDist().cdf(x),
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
}


def _each(x: Tensor, function) -> Tensor:
    return torch.tensor([function(float(value)) for value in x.detach().flatten()], dtype=x.dtype).reshape(x.shape)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_widens_bends_and_narrows(activation):
    mlp = TwoLayer(ratio=2.5, activation=activation).build(Site(width=4, grid=(1, 1))).double()
    assert mlp.widen.weight.shape == (10, 4)
    x = 3 * torch.randn(2, 3, 4, dtype=torch.float64)
    hidden = _each(x @ mlp.widen.weight.T + mlp.widen.bias, ACTIVATIONS[activation])
    assert_close(mlp(x), hidden @ mlp.narrow.weight.T + mlp.narrow.bias)


def test_dropout_falls_after_both_layers():
    mlp = TwoLayer(ratio=10.0, activation="relu").build(Site(width=2, grid=(1, 1), dropout=0.25))
    torch.nn.init.zeros_(mlp.widen.weight)
    torch.nn.init.ones_(mlp.widen.bias)  # every hidden value is 1
    torch.nn.init.constant_(mlp.narrow.weight, 0.05)
    torch.nn.init.zeros_(mlp.narrow.bias)
    out = mlp.train()(torch.zeros(500, 20, 2)).detach()
    kept = out[out != 0] * 0.75
    assert float((out == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    # the mean of 20 hidden values, each kept with probability 3/4 and scaled by 4/3
    assert float(kept.mean()) == pytest.approx(1, abs=0.01)
    assert float(kept.var()) == pytest.approx((1 / 3) / 20, rel=0.1)
    assert_close(mlp.eval()(torch.zeros(1, 1, 2)), torch.ones(1, 1, 2))


def test_a_ratio_that_leaves_no_hidden_width_is_refused():
    with pytest.raises(UserError, match=r"a ratio of 0\.1 leaves nothing of a width of 4"):
        TwoLayer(ratio=0.1).build(Site(width=4, grid=(1, 1)))
