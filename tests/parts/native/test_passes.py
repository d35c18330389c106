"""Each pass against torch's own in float64: values, gradients, and masks that are the same on the way back."""

import math

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from vitlab.parts.dropout import Dropout, dropout
from vitlab.parts.mlp import TwoLayer
from vitlab.parts.native import library, passes
from vitlab.parts.norm import Layer
from vitlab.parts.part import Site

pytestmark = pytest.mark.usefixtures("native")
RATE = 0.1
CLOSE = {torch.float32: {"rtol": 1e-5, "atol": 2e-6}, torch.bfloat16: {"rtol": 2**-8, "atol": 1e-5}}
EITHER = pytest.mark.parametrize("dtype", CLOSE, ids=str)


def drawn(*shape, dtype, spread=1.0):
    return (torch.randn(shape) * spread).to(dtype).requires_grad_()


def both(function, reference, inputs, dtype):
    """Values and gradients of the two, the second computed in float64."""
    out = function(*inputs)
    given = torch.randn(out.shape).to(dtype)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    expected = reference(*exact)
    assert_close(out.double(), expected, **CLOSE[dtype])
    for found, wanted in zip(
        torch.autograd.grad(out, inputs, given), torch.autograd.grad(expected, exact, given.double()), strict=True
    ):
        yield found.double(), wanted


@EITHER
@pytest.mark.parametrize("count", [1, 31, 32, 1000])
def test_gelu_and_its_slope(count, dtype):
    """Over the whole range: beyond 6 it is its input or nothing."""
    x = torch.linspace(-9, 9, count).to(dtype).requires_grad_()
    for found, wanted in both(lambda x: passes.gelu(x, 0.0), functional.gelu, [x], dtype):
        assert_close(found, wanted, **CLOSE[dtype])


@EITHER
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_zeroes_as_many_as_asked_for_and_scales_the_others(rate, dtype):
    out = passes.dropout(torch.ones(400, 1001, dtype=dtype), rate)
    spread = 5 * math.sqrt(rate * (1 - rate) / out.numel())
    assert (out == 0).float().mean() == pytest.approx(rate, abs=spread)
    kept = out[out != 0].float()
    assert float(kept.min()) == float(kept.max()) == pytest.approx(1 / (1 - rate), rel=0.005)


def test_zeros_know_nothing_of_one_another():
    first, second = ((passes.dropout(torch.ones(512, 512), RATE) == 0).float() - RATE for _ in range(2))
    bound = 5 * RATE * (1 - RATE) / 512
    for other in (second, second.roll(1, 1), *(first.roll(by, 1) for by in (1, 2, 8, 16, 32, 256)), first.roll(1, 0)):
        assert abs((first * other).mean()) < bound


def test_rows_and_columns_lose_alike():
    zeros = (passes.dropout(torch.ones(1024, 1024), RATE) == 0).float()
    for side in (0, 1):
        shares = zeros.mean(dim=side)
        assert (shares - RATE).abs().max() < 5.5 * math.sqrt(RATE * (1 - RATE) / 1024)
        assert shares.std() == pytest.approx(math.sqrt(RATE * (1 - RATE) / 1024), rel=0.15)


@EITHER
def test_the_gradient_of_dropout_has_the_same_mask(dtype):
    x = torch.randn(77, 13).to(dtype).requires_grad_()
    out = passes.dropout(x, RATE)
    out.backward(torch.ones_like(out))
    assert_close(x.grad * x.detach(), out, rtol=0.01, atol=0)


@EITHER
def test_gelu_with_dropout_is_gelu_times_a_mask_both_ways(dtype):
    x = drawn(50, 33, dtype=dtype)
    torch.manual_seed(5)
    out = passes.gelu(x, RATE)
    torch.manual_seed(5)
    mask = passes.dropout(torch.ones_like(x), RATE).detach().double()
    exact = x.detach().double().requires_grad_()
    expected = functional.gelu(exact) * (mask > 0) / (1 - RATE)
    given = torch.randn(50, 33).to(dtype)
    assert_close(out.double(), expected, **CLOSE[dtype])
    (found,), (wanted,) = torch.autograd.grad(out, x, given), torch.autograd.grad(expected, exact, given.double())
    assert_close(found.double(), wanted, **CLOSE[dtype])


@EITHER
@pytest.mark.parametrize("threads", [1, 3])
def test_layer_normalisation(threads, dtype):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, weight, bias = drawn(5, 7, 48, dtype=dtype, spread=3), drawn(48, dtype=torch.float32), torch.zeros(48)
        inputs = [x, weight, bias.requires_grad_()]
        found = both(
            lambda *inputs: passes.norm(*inputs, 1e-6),
            lambda x, weight, bias: functional.layer_norm(x, (48,), weight, bias, 1e-6),
            inputs,
            dtype,
        )
        of_x, of_weight, of_bias = found
    finally:
        torch.set_num_threads(before)
    assert_close(*of_x, **CLOSE[dtype])
    for gradient in (of_weight, of_bias):  # summed in float32 whatever the type of the rows
        assert_close(*gradient, rtol=1e-5, atol=1e-5)


def test_one_seed_repeats_and_another_does_not():
    x = torch.randn(33, 5)
    torch.manual_seed(3)
    first = passes.dropout(x, RATE)
    second = passes.dropout(x, RATE)
    torch.manual_seed(3)
    assert torch.equal(first, passes.dropout(x, RATE))
    assert not torch.equal(first, second)


def test_parts_take_the_passes_while_training_alone(monkeypatch):
    called = []
    monkeypatch.setattr(library, "call", lambda name, *_: called.append(name))
    x = torch.randn(2, 3, 32)
    mlp, norm, layer = TwoLayer().build(Site(32, (2, 2), dropout=RATE)), Layer().build(32), Dropout(RATE)
    for module in (mlp, norm, layer):
        module(x)
    assert called == ["vitlab_bend", "vitlab_drop", "vitlab_norm", "vitlab_drop"]
    called.clear()
    for module in (mlp, norm, layer):
        module.eval()(x)
    with library.used(False):
        for module in (mlp, norm, layer):
            module.train()(x)
    assert called == []


@pytest.mark.parametrize("strange", ["float64", "meta"])
def test_what_it_cannot_take_is_left_to_torch(strange):
    x = torch.ones(2, 32, dtype=torch.float64) if strange == "float64" else torch.ones(2, 32, device="meta")
    assert not library.fits(x)
    assert dropout(x, RATE).dtype == x.dtype
