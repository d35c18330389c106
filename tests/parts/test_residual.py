"""Stochastic depth and layer scale."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vitlab.parts.part import Site
from vitlab.parts.residual import Add, Scale

SITE = Site(width=4, grid=(1, 3), drop_path=0.3)


def test_without_stochastic_depth_the_branch_is_added():
    x, branch = torch.randn(2, 5, 3, 4)
    residual = Add().build(Site(width=4, grid=(1, 3)))
    assert torch.equal(residual.train()(x, branch), x + branch)


@pytest.mark.parametrize("description", [Add(), Scale(start=1.0)])
def test_the_branch_of_a_whole_image_is_dropped_or_scaled_up(description):
    x, branch = torch.randn(2, 4000, 3, 4)
    out = description.build(SITE).train()(x, branch)
    dropped = (out == x).flatten(1).all(dim=1)
    assert_close(out[~dropped], (x + branch / 0.7)[~dropped])
    assert torch.equal(out[dropped], x[dropped])
    # 4,000 images: five standard deviations of the share are 0.036
    assert float(dropped.float().mean()) == pytest.approx(0.3, abs=0.036)


def test_stochastic_depth_keeps_the_expectation():
    x, branch = torch.zeros(20_000, 1, 1), torch.ones(20_000, 1, 1)
    assert float(Add().build(SITE).train()(x, branch).mean()) == pytest.approx(1, abs=0.025)


def test_in_evaluation_nothing_is_dropped_or_scaled():
    x, branch = torch.randn(2, 50, 3, 4)
    assert torch.equal(Add().build(SITE).eval()(x, branch), x + branch)


def test_layer_scale_multiplies_each_channel_of_the_branch():
    residual = Scale(start=0.1).build(Site(width=4, grid=(1, 3)))
    assert torch.equal(residual.gamma, torch.full((4,), 0.1))
    gamma = nn.init.normal_(residual.gamma)
    x, branch = torch.randn(2, 5, 3, 4)
    for d in range(4):
        assert_close(residual(x, branch)[..., d], x[..., d] + gamma[d] * branch[..., d])
