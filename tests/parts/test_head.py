"""From the pooled vector to logits."""

import torch
from torch import nn
from torch.testing import assert_close

from vitlab.parts.head import Averaged, Linear, Normed


def test_linear_is_one_matrix_and_a_bias():
    head, x = Linear().build(6, 4), torch.randn(3, 6)
    assert_close(head(x), x @ head.weight.T + head.bias)


def test_normed_normalises_first():
    head, x = Normed().build(6, 4), 5 + 3 * torch.randn(3, 6)
    norm, linear = head
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    centred = x - x.mean(dim=1, keepdim=True)
    normal = centred / (centred.square().mean(dim=1, keepdim=True) + 1e-6).sqrt() * norm.weight + norm.bias
    assert_close(head(x), normal @ linear.weight.T + linear.bias)


def test_averaged_is_the_mean_of_the_logits_of_two_vectors():
    head, one, other = Averaged().build(12, 4), torch.randn(3, 6), torch.randn(3, 6)
    first = one @ head.cls.weight.T + head.cls.bias
    second = other @ head.distillation.weight.T + head.distillation.bias
    both = torch.cat([one, other], dim=1)
    for found, expected in zip(head.each(both), (first, second), strict=True):
        assert_close(found, expected)
    assert_close(head(both), (first + second) / 2)


def test_with_no_classes_the_vector_is_handed_on():
    x = 5 + 3 * torch.randn(3, 6)
    assert Linear().build(6, 0)(x) is x
    normed = Normed().build(6, 0)(x)
    assert_close(normed.mean(dim=1), torch.zeros(3), rtol=0, atol=1e-5)
    assert_close(normed.square().mean(dim=1), torch.ones(3), rtol=1e-4, atol=0)
    one, other = x.chunk(2, dim=1)
    assert_close(Averaged().build(6, 0)(x), (one + other) / 2)
