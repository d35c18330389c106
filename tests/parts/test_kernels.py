"""The kernels of softmax attention compute the same, and the measured one is used."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.parts import kernels

from . import naive


@pytest.fixture(autouse=True)
def _undecided(monkeypatch):
    monkeypatch.setattr(kernels, "_chosen", {})


@pytest.fixture
def called(monkeypatch):
    """The kernels called so far, by name; each takes fake seconds: plain 3, fused 1."""
    names: list[str] = []
    now = [0.0]

    def pretend(name, seconds):
        def kernel(q, k, v, bias, dropout):
            names.append(name)
            now[0] += seconds
            return q + k + v

        return kernel

    monkeypatch.setattr(kernels, "KERNELS", {"plain": pretend("plain", 3.0), "fused": pretend("fused", 1.0)})
    monkeypatch.setattr(kernels.time, "perf_counter", lambda: now[0])
    return names


@pytest.mark.parametrize("name", ["plain", "fused"])
@pytest.mark.parametrize("biased", [False, True])
def test_each_kernel_equals_one_query_at_a_time(name, biased):
    q, k, v = naive.qkv(2, 5, 4, keys=7)
    bias = torch.randn(2, 5, 7, dtype=torch.float64) if biased else None
    assert_close(kernels.KERNELS[name](q, k, v, bias, 0.0), naive.attend(q, k, v, bias))


@pytest.mark.parametrize("name", ["plain", "fused"])
def test_the_gradient_of_each_kernel_equals_finite_differences(name):
    inputs = [x.requires_grad_() for x in (*naive.qkv(1, 3, 2, images=1), torch.randn(1, 3, 3, dtype=torch.float64))]
    assert torch.autograd.gradcheck(lambda q, k, v, bias: kernels.KERNELS[name](q, k, v, bias, 0.0), inputs)


def test_both_kernels_have_the_same_gradient_in_float32():
    found = {}
    for name, kernel in kernels.KERNELS.items():
        torch.manual_seed(1)
        inputs = [torch.randn(2, 2, 9, 4, requires_grad=True) for _ in range(3)]
        (kernel(*inputs, None, 0.0) * torch.randn(2, 2, 9, 4)).sum().backward()
        found[name] = [x.grad for x in inputs]
    assert_close(found["plain"], found["fused"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "fused"])
def test_a_key_at_minus_infinity_is_not_seen(name):
    q, k, v = naive.qkv(2, 5, 4)
    mask = torch.zeros(5, 5, dtype=torch.float64).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    expected = naive.attend(q, k, v, sees=lambda i, j: j <= i)
    assert_close(kernels.KERNELS[name](q, k, v, mask, 0.0), expected)


def test_the_faster_kernel_is_chosen_and_used_from_then_on(called):
    x = torch.zeros(1, 1, 7, 4, dtype=torch.bfloat16)
    kernels.attend(x, x, x)
    assert called == ["plain"]  # the rule for short sequences in bfloat16 on a CPU
    seconds = kernels.measure("cpu", torch.bfloat16, length=7, heads=1, head_width=4, batch=1)
    assert seconds == {"plain": 3.0, "fused": 1.0}
    assert kernels.chosen() == {"cpu bfloat16 7": "fused"}
    called.clear()
    kernels.attend(x, x, x)
    assert called == ["fused"]


def test_a_decision_holds_for_its_device_dtype_and_number_of_keys_alone(called):
    kernels.adopt({"cpu bfloat16 7": "fused", "cpu float32 7": "plain"})
    for length, dtype, expected in [
        (7, torch.bfloat16, "fused"),
        (8, torch.bfloat16, "plain"),
        (7, torch.float32, "plain"),
        (8, torch.float32, "fused"),
    ]:
        x = torch.zeros(1, 1, length, 4, dtype=dtype)
        called.clear()
        kernels.attend(x, x, x)
        assert called == [expected]


def test_decisions_written_down_are_taken_up_again(called):
    kernels.measure("cpu", torch.float32, length=7, heads=1, head_width=4, batch=1)
    written = kernels.chosen()
    kernels._chosen.clear()
    kernels.adopt(written)
    assert kernels.chosen() == written == {"cpu float32 7": "fused"}


def test_kernels_of_another_version_are_not_taken_up(called):
    kernels.adopt({"cpu float32 7": "flash9", "cpu float32 8": "fused"})
    assert kernels.chosen() == {"cpu float32 8": "fused"}


@pytest.mark.parametrize(
    ("device", "dtype", "length", "expected"),
    [
        ("cpu", torch.bfloat16, kernels.PLAIN_UP_TO, "plain"),
        ("cpu", torch.bfloat16, kernels.PLAIN_UP_TO + 1, "fused"),
        ("cpu", torch.float32, 17, "fused"),
        ("cuda", torch.bfloat16, 17, "fused"),
        ("meta", torch.float32, 5000, "plain"),
    ],
)
def test_without_a_measurement_the_rule_decides(device, dtype, length, expected):
    assert kernels.rule(device, dtype, length) == expected
