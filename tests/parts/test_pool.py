"""Pools against loops; prefix tokens are seen by the class token's pool alone."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vitlab.parts.part import Site
from vitlab.parts.pool import Attend, ClassAndDistillation, ClassAndMean, ClassToken, Max, Mean, Pool, Sequence

from . import naive

SITE = Site(width=8, grid=(2, 3), prefix=2)


def _x() -> torch.Tensor:
    return torch.randn(3, 8, 8, dtype=torch.float64)


def test_the_class_token_is_the_first():
    x = _x()
    assert torch.equal(ClassToken().build(SITE)(x), x[:, 0])


def test_the_class_and_the_distillation_token_are_the_first_two_side_by_side():
    x = _x()
    assert torch.equal(ClassAndDistillation().build(SITE)(x), torch.stack([x[:, 0], x[:, 1]], dim=1).reshape(3, 16))


def test_the_class_token_stands_before_the_mean_of_the_patches():
    x = _x()
    found = ClassAndMean().build(SITE)(x)
    assert torch.equal(found[:, :8], x[:, 0])
    assert_close(found[:, 8:], sum(x[:, n] for n in range(2, 8)) / 6)


def test_mean_is_the_sum_of_the_patches_over_their_number():
    x = _x()
    assert_close(Mean().build(SITE)(x), sum(x[:, n] for n in range(2, 8)) / 6)


def test_max_is_the_largest_of_each_channel():
    x = _x()
    found = Max().build(SITE)(x)
    for b in range(3):
        for d in range(8):
            assert float(found[b, d]) == max(float(x[b, n, d]) for n in range(2, 8))


def test_sequence_weighs_patches_by_a_learned_score():
    pool = Sequence().build(SITE).double()
    x = _x()
    found = pool(x)
    for b in range(3):
        weights = [math.exp(float(pool.weigh.weight[0].detach() @ x[b, n])) for n in range(2, 8)]
        expected = sum(w / sum(weights) * x[b, 2 + i] for i, w in enumerate(weights))
        assert_close(found[b], expected)


def test_attend_is_one_learned_query_looking_at_the_patches():
    pool = Attend(heads=2).build(SITE).double()
    nn.init.normal_(pool.query.weight)
    x, attention = _x(), pool.attention
    q = naive.heads(pool.query.weight.expand(3, 1, 8) @ attention.q.weight.T + attention.q.bias, 2)
    halves = zip(attention.kv.weight.chunk(2), attention.kv.bias.chunk(2), strict=True)
    k, v = (naive.heads(x[:, 2:] @ w.T + b, 2) for w, b in halves)
    expected = naive.side_by_side(naive.attend(q, k, v)) @ attention.proj.weight.T + attention.proj.bias
    assert_close(pool(x), expected[:, 0])


@pytest.mark.parametrize("kind", [kind for kind, pool in Pool.kinds.items() if not pool.needs_cls])
def test_what_stands_before_the_patches_does_not_enter_their_pool(kind):
    pool = Pool.model_validate(kind).build(SITE).double()
    x = _x()
    other = x.clone()
    other[:, :2] += 5
    assert torch.equal(pool(x), pool(other))


@pytest.mark.parametrize("kind", [kind for kind, pool in Pool.kinds.items() if not pool.needs_cls])
def test_the_order_of_patches_does_not_matter_to_their_pool(kind):
    pool = Pool.model_validate(kind).build(SITE).double()
    x = _x()
    turned = torch.cat([x[:, :2], x[:, 2:].flip(1)], dim=1)
    assert_close(pool(x), pool(turned))


@pytest.mark.parametrize("kind", Pool.kinds)
def test_the_weights_are_shares_of_one_and_mix_the_tokens(kind):
    pool = Pool.model_validate(kind).build(SITE)
    x = torch.randn(4, SITE.length, 8)
    shares = pool.weights(x)
    assert shares.shape == (4, 8)
    assert float(shares.min()) >= 0
    assert_close(shares.sum(dim=1), torch.ones(4))
    if kind in {"cls", "mean", "sequence"}:
        assert_close((shares[:, None] @ x).squeeze(1), pool(x))
    if kind in {"cls_distillation", "cls_mean"}:
        assert_close((shares[:, None] @ x).squeeze(1), pool(x).view(4, 2, 8).mean(dim=1))


def test_the_weights_of_a_maximum_count_the_channels_that_a_patch_wins():
    pool = Max().build(Site(width=4, grid=(1, 3)))
    x = torch.tensor([[[0.0, 5, 0, 9], [1, 1, 1, 1], [2, 2, 2, 2]]])  # wins: two, none, two
    assert pool.weights(x).tolist() == [[0.5, 0.0, 0.5]]


def test_the_weights_of_an_attending_pool_are_its_heads_mean():
    pool = Attend(heads=2).build(Site(width=8, grid=(2, 2)))
    x = torch.randn(1, 4, 8)
    q = pool.attention.q(pool.query.weight).unflatten(1, (2, 4))  # 1 H E
    k = pool.attention.kv(x[0])[:, :8].unflatten(1, (2, 4))  # L H E
    scores = torch.stack([k[:, head] @ q[0, head] / 4**0.5 for head in range(2)])
    assert_close(pool.weights(x)[0], scores.softmax(dim=1).mean(dim=0))
