"""From the pooled vector to logits."""

import torch
from torch import nn
from torch.testing import assert_close

from vitlab.parts.head import Linear, Normed


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


def test_with_no_classes_the_vector_is_handed_on():
    x = 5 + 3 * torch.randn(3, 6)
    assert Linear().build(6, 0)(x) is x
    normed = Normed().build(6, 0)(x)
    assert_close(normed.mean(dim=1), torch.zeros(3), rtol=0, atol=1e-5)
    assert_close(normed.square().mean(dim=1), torch.ones(3), rtol=1e-4, atol=0)
