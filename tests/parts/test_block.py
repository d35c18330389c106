"""Blocks against the equations, with attention, MLP and norm as black boxes of their own tests."""

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import Alternate, Block, PostNorm, PreNorm
from vitlab.parts.norm import Layer
from vitlab.parts.part import Site
from vitlab.parts.residual import Scale
from vitlab.parts.window import Window

SITE = Site(width=8, grid=(2, 3))


def _built(description: Block) -> nn.Module:
    block = description.build(SITE)
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=0.5)
    return block


def _normal(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean(dim=2, keepdim=True)
    return centred / (centred.square().mean(dim=2, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def test_pre_norm_normalises_what_enters_a_branch():
    block = _built(PreNorm(attention=SelfAttention(heads=2)))
    x = torch.randn(2, 6, 8)
    z = x + block.attention(_normal(x, block.norm1), (2, 3))
    assert_close(block(x, (2, 3)), z + block.mlp(_normal(z, block.norm2)), rtol=1e-4, atol=1e-4)


def test_post_norm_normalises_the_stream():
    block = _built(PostNorm(attention=SelfAttention(heads=2)))
    x = torch.randn(2, 6, 8)
    z = _normal(x + block.attention(x, (2, 3)), block.norm1)
    assert_close(block(x, (2, 3)), _normal(z + block.mlp(z), block.norm2), rtol=1e-4, atol=1e-4)


def test_both_branches_join_by_the_residual_asked_for():
    block = _built(PreNorm(attention=SelfAttention(heads=2), residual=Scale()))
    x = torch.randn(2, 6, 8)
    z = x + block.residual1.gamma * block.attention(_normal(x, block.norm1), (2, 3))
    expected = z + block.residual2.gamma * block.mlp(_normal(z, block.norm2))
    assert_close(block(x, (2, 3)), expected, rtol=1e-4, atol=1e-4)


def test_the_epsilon_of_the_norm_is_the_one_asked_for():
    norm = Layer(eps=0.5).build(8)
    x = torch.randn(2, 6, 8)
    variance = x.var(dim=2, unbiased=False, keepdim=True)
    assert_close(norm(x), (x - x.mean(dim=2, keepdim=True)) / (variance + 0.5).sqrt())


def test_blocks_by_turns_go_by_the_number_of_the_layer():
    kinds = [SelfAttention(heads=1, core=Window(size=2, shift=shift)) for shift in (0, 1)]
    both = Alternate(blocks=tuple(PreNorm(attention=attention) for attention in kinds))
    shifts = [both.build(Site(width=8, grid=(2, 4), layer=layer)).attention.core.shift for layer in range(5)]
    assert shifts == [0, 1, 0, 1, 0]


def test_blocks_by_turns_take_prefix_tokens_only_if_all_do():
    plain, window = (PreNorm(attention=SelfAttention(heads=1, core=core)) for core in ("softmax", "window"))
    assert plain.takes_prefix
    assert not window.takes_prefix
    assert Alternate(blocks=(plain, plain)).takes_prefix
    assert not Alternate(blocks=(plain, window)).takes_prefix
