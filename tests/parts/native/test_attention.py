"""Attention by the library against attention in float64, one with the very mask that the library draws."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.parts import kernels
from vitlab.parts.native import attention

pytestmark = pytest.mark.usefixtures("native")
RATE = 0.2
SIZES = pytest.mark.parametrize(
    ("queries", "keys", "width"), [(65, 65, 64), (17, 17, 128), (1, 1, 16), (5, 33, 16), (64, 7, 32), (256, 256, 16)]
)


def qkv(queries, keys, width, heads=3):
    """Views as a projection gives them: heads beside each other."""
    return [torch.randn(2, n, heads, width).bfloat16().transpose(1, 2).requires_grad_() for n in (queries, keys, keys)]


def exact(q, k, v, mask=1.0):
    return ((q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(dim=-1) * mask) @ v


def compare(out, inputs, mask=1.0):
    """Values and all gradients to the rounding of bfloat16, against the largest of them."""
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    expected, given = exact(*doubles, mask), torch.randn(out.shape).bfloat16()
    assert_close(out.double(), expected, rtol=0, atol=float(expected.detach().abs().max()) * 2**-7)
    found, wanted = torch.autograd.grad(out, inputs, given), torch.autograd.grad(expected, doubles, given.double())
    for ours, theirs in zip(found, wanted, strict=True):
        assert_close(ours.double(), theirs, rtol=0, atol=float(theirs.abs().max()) * 2**-6 + 1e-9)


@SIZES
def test_values_and_gradients(queries, keys, width):
    inputs = qkv(queries, keys, width)
    compare(attention.attend(*inputs, 0.0), inputs)


def test_large_scores_do_not_overflow():
    inputs = qkv(9, 9, 16)
    with torch.no_grad():
        inputs[0].mul_(100)
    out = attention.attend(*inputs, 0.0)
    assert_close(out.double(), exact(*(x.double() for x in inputs)), rtol=0, atol=0.05)


@pytest.mark.parametrize("tokens", [16, 48, 33])
def test_dropout_has_one_mask_both_ways(tokens):
    inputs = qkv(tokens, tokens, 48)
    # The mask: with scores of zero every weight is 1 / keys, and values of a unit matrix show each.
    shown = torch.eye(tokens, 48).expand(2, 3, tokens, 48).bfloat16().contiguous()
    nothing = torch.zeros_like(inputs[0])
    torch.manual_seed(4)
    seen = attention.attend(nothing, nothing, shown, RATE)[..., :tokens].detach().double()
    mask = (seen > 0) / (1 - RATE)
    assert (mask == 0).double().mean() == pytest.approx(RATE, abs=5 * (RATE * (1 - RATE) / mask.numel()) ** 0.5)
    torch.manual_seed(4)
    compare(attention.attend(*inputs, RATE), inputs, mask)


def test_the_parts_of_a_projection_are_views_and_their_gradients_one_tensor():
    whole = torch.randn(2, 5, 3 * 2 * 16).bfloat16().requires_grad_()
    parts = attention.parted(whole, 2)
    wanted = whole.unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
    assert all(part.data_ptr() == other.data_ptr() for part, other in zip(parts, wanted, strict=True))
    grads = [torch.randn(2, 2, 5, 16).bfloat16() for _ in range(3)]
    ours, theirs = (torch.autograd.grad(tuple(of), whole, grads)[0] for of in (parts, wanted))
    assert torch.equal(ours, theirs)
    out = attention.attend(*attention.parted(whole, 2), 0.0)
    given = torch.randn_like(out)
    plainly = attention.attend(*wanted, 0.0)
    assert torch.equal(torch.autograd.grad(out, whole, given)[0], torch.autograd.grad(plainly, whole, given)[0])


def test_the_kernel_takes_what_it_can_and_leaves_the_rest_to_the_plain_one(monkeypatch):
    q, k, v = (x.detach() for x in qkv(5, 5, 16))
    called = []
    monkeypatch.setattr(attention, "attend", lambda q, k, v, rate: called.append(q.shape) or q)
    kernels.native(q, k, v, None, 0.0)
    assert called == [q.shape]
    odd, long = torch.randn(1, 1, 4, 10).bfloat16(), torch.randn(1, 1, 257, 16).bfloat16()
    for given, bias in [((q, k, v), torch.zeros(5, 5)), ((odd,) * 3, None), ((long,) * 3, None)]:
        assert_close(kernels.native(*given, bias, 0.0), kernels.plain(*given, bias, 0.0))
    assert_close(kernels.native(q.float(), k.float(), v.float(), None, 0.0), exact(q.float(), k.float(), v.float()))
    assert called == [q.shape]


def test_it_is_measured_beside_the_others_and_fused_is_not_where_there_is_dropout(monkeypatch):
    monkeypatch.setattr(kernels, "_chosen", {})
    measured = kernels.measure("cpu", torch.bfloat16, length=17, heads=2, head_width=16, batch=2)
    assert set(measured) == {"plain", "fused", "native"}
    measured = kernels.measure("cpu", torch.bfloat16, length=17, heads=2, head_width=16, batch=2, dropout=RATE)
    assert set(measured) == {"plain", "native"}
    assert set(kernels.measure("cpu", torch.float32, 17, 2, 16, 2)) == {"plain", "fused"}
