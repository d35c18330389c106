"""Tokens before the patches."""

import pytest
import torch
from torch import nn

from vitlab.parts.tokens import Prefix


@pytest.mark.parametrize(
    ("prefix", "count"),
    [
        (Prefix(), 1),
        (Prefix(cls=False), 0),
        (Prefix(distillation=True), 2),
        (Prefix(registers=4), 5),
        (Prefix(cls=False, registers=4), 4),
        (Prefix(distillation=True, registers=3), 5),
    ],
)
def test_learned_tokens_stand_before_the_patches_in_the_order_of_their_table(prefix, count):
    assert prefix.count == count
    module = prefix.build(6)
    x = torch.randn(2, 5, 6)
    out = module(x)
    assert out.shape == (2, count + 5, 6)
    assert torch.equal(out[:, count:], x)
    if count:
        assert module.table.weight.shape == (count, 6)
        for n in range(count):
            assert torch.equal(out[:, n], module.table.weight[n].expand(2, 6))


def test_tokens_take_the_dtype_of_the_patches():
    module = Prefix().build(6)
    nn.init.normal_(module.table.weight)
    out = module(torch.zeros(2, 5, 6, dtype=torch.bfloat16))
    assert torch.equal(out[:, 0], module.table.weight.bfloat16().expand(2, 6))
