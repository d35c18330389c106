"""Softmax attention and its projections against one query at a time."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.attention import CrossAttention, SelfAttention, Softmax, head_width
from vitlab.parts.part import Site

from . import naive

SITE = Site(width=8, grid=(2, 2), prefix=1)


def test_softmax_equals_one_query_at_a_time():
    q, k, v = naive.qkv(2, 5, 4)
    bias = torch.randn(2, 5, 5, dtype=torch.float64)
    core = Softmax().build(2, 4, SITE)
    assert_close(core(q, k, v), naive.attend(q, k, v))
    assert_close(core(q, k, v, bias), naive.attend(q, k, v, bias))


def test_softmax_takes_fewer_keys_than_queries():
    q, k, v = naive.qkv(2, 5, 4, keys=3)
    assert_close(Softmax().build(2, 4, SITE)(q, k, v), naive.attend(q, k, v))


def test_the_map_holds_the_weight_of_each_key_for_each_query():
    q, k, _ = naive.qkv(2, 5, 4)
    one_hot = torch.eye(5, dtype=torch.float64).expand(2, 2, 5, 5)
    # values that name their key come out as the weights themselves
    assert_close(Softmax().build(2, 4, SITE).map(q, k), naive.attend(q, k, one_hot))


@pytest.mark.parametrize("bias", [True, False])
def test_self_attention_is_three_projections_a_core_and_one_back(bias):
    attention = SelfAttention(heads=2, qkv_bias=bias).build(SITE).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    thirds = attention.qkv.weight.chunk(3)
    offsets = attention.qkv.bias.chunk(3) if bias else [0.0, 0.0, 0.0]
    q, k, v = (naive.heads(x @ w.T + b, 2) for w, b in zip(thirds, offsets, strict=True))
    expected = naive.side_by_side(naive.attend(q, k, v)) @ attention.proj.weight.T + attention.proj.bias
    assert_close(attention(x, (2, 2)), expected)
    assert (attention.qkv.bias is not None) == bias


def test_cross_attention_asks_one_sequence_about_another():
    attention = CrossAttention(SITE, 2, Softmax()).double()
    x, context = (torch.randn(3, length, 8, dtype=torch.float64) for length in (2, 6))
    q = naive.heads(x @ attention.q.weight.T + attention.q.bias, 2)
    halves = zip(attention.kv.weight.chunk(2), attention.kv.bias.chunk(2), strict=True)
    k, v = (naive.heads(context @ w.T + b, 2) for w, b in halves)
    expected = naive.side_by_side(naive.attend(q, k, v)) @ attention.proj.weight.T + attention.proj.bias
    assert_close(attention(x, context), expected)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_dropout_falls_on_the_map_while_training_and_never_in_evaluation(dropout):
    core = Softmax().build(1, 4, Site(width=4, grid=(1, 10), dropout=dropout))
    q = k = torch.zeros(200, 1, 10, 4)  # equal weights of one tenth
    ones = torch.ones(200, 1, 10, 4)
    kept = core.train()(q, k, ones)[..., 0] * 10 * (1 - dropout)  # how many of ten keys each query still sees
    assert float(kept.mean()) == pytest.approx(10 * (1 - dropout), abs=0.15)
    assert float(kept.var()) == pytest.approx(10 * dropout * (1 - dropout), abs=0.3)
    assert_close(core.eval()(q, k, ones), ones)


def test_heads_that_do_not_divide_the_width_are_told_what_would():
    assert head_width(12, 3) == 4
    with pytest.raises(UserError, match="5 heads do not divide a width of 12") as refused:
        head_width(12, 5)
    assert "take 1, 2, 3, 4, 6, 12 heads or a width of 10 or 15" in str(refused.value)


@pytest.mark.parametrize("core", ["performer", "linformer"])
def test_a_core_that_takes_no_bias_refuses_a_relative_one(core):
    with pytest.raises(ValueError, match=f"a core of kind '{core}' cannot take a relative bias"):
        SelfAttention.model_validate({"heads": 2, "core": core, "relative": "bias"})
