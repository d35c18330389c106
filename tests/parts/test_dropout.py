import math

import pytest
import torch
from torch.nn import functional

from vitlab.parts.dropout import Dropout, dropout, hashed

RATE = 0.1


def spread(rate, count):
    """Five standard deviations of the share of zeros among so many elements."""
    return 5 * math.sqrt(rate * (1 - rate) / count)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_as_many_zeros_as_asked_for_and_the_others_scaled(rate, dtype):
    out = dropout(torch.ones(400, 1001, dtype=dtype), rate)
    assert (out == 0).float().mean() == pytest.approx(rate, abs=spread(rate, out.numel()))
    kept = out[out != 0].float()
    assert float(kept.min()) == float(kept.max()) == pytest.approx(1 / (1 - rate), rel=0.005)


def test_the_gradient_has_the_same_mask():
    x = torch.randn(300, 7, requires_grad=True)
    out = dropout(x, RATE)
    out.backward(torch.ones_like(out))
    assert torch.allclose(x.grad * x.detach(), out)


@pytest.mark.parametrize(
    "draw", [lambda x: dropout(x, RATE) == 0, lambda x: hashed(x, RATE) == 0], ids=["drawn", "hashed"]
)
def test_zeros_know_nothing_of_one_another(draw):
    torch.manual_seed(0)
    first, second = (draw(torch.ones(512, 512)).float() - RATE for _ in range(2))
    bound = spread(RATE, first.numel())
    assert abs(first.mean()) < bound
    for other in (second, first.roll(1, 1), first.roll(1, 0), first.roll(64, 1), first.roll(256, 0)):
        assert abs((first * other).mean()) < bound


def test_rows_and_columns_lose_alike():
    torch.manual_seed(1)
    zeros = 1 - hashed(torch.ones(1024, 1024), RATE)
    for side in (0, 1):
        shares = zeros.mean(dim=side)
        assert (shares - RATE).abs().max() < spread(RATE, 1024) * 1.1
        assert shares.std() == pytest.approx(math.sqrt(RATE * (1 - RATE) / 1024), rel=0.15)


def test_one_seed_repeats_and_evaluation_keeps_everything():
    x, layer = torch.randn(33, 5), Dropout(RATE)
    torch.manual_seed(3)
    first = layer(x)
    torch.manual_seed(3)
    assert torch.equal(first, layer(x))
    assert not torch.equal(first, layer(x))
    assert layer.eval()(x) is x


def test_ends_of_the_scale():
    x = torch.randn(9)
    assert dropout(x, 0.0) is x
    assert not dropout(x, 1.0).any()


def test_other_devices_keep_torchs_own():
    with torch.device("meta"):
        assert dropout(torch.ones(3, 4), RATE).shape == functional.dropout(torch.ones(3, 4), RATE).shape
