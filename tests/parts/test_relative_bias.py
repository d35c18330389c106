"""Relative bias against a double loop over queries and keys."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from vitlab.parts.attention import SelfAttention
from vitlab.parts.part import Site
from vitlab.parts.position import resample
from vitlab.parts.rotary import Bias
from vitlab.parts.window import Window

from . import naive


def _spread(table: Tensor, span: tuple[int, int], grid: tuple[int, int], prefix: int) -> Tensor:
    """(H, N, N): for each query and key the entry of the table that their offset has; zero from and to the prefix."""
    length = prefix + grid[0] * grid[1]
    bias = torch.zeros(table.shape[1], length, length, dtype=table.dtype)
    for i in range(prefix, length):
        for j in range(prefix, length):
            (r, c), (s, t) = divmod(i - prefix, grid[1]), divmod(j - prefix, grid[1])
            if abs(r - s) < span[0] and abs(c - t) < span[1]:
                bias[:, i, j] = table[(r - s + span[0] - 1) * (2 * span[1] - 1) + c - t + span[1] - 1]
    return bias


@pytest.mark.parametrize("prefix", [0, 2])
def test_each_offset_has_its_number_for_each_head(prefix):
    relative = Bias().build(2, 4, Site(width=8, grid=(3, 4), prefix=prefix), None)
    table = nn.init.normal_(relative.table.weight)
    assert table.shape == (5 * 7, 2)
    q, k = torch.randn(2, 1, 2, prefix + 12, 4)
    same_q, same_k, bias = relative(q, k, (3, 4))
    assert same_q is q
    assert same_k is k
    assert torch.equal(bias, _spread(table, (3, 4), (3, 4), prefix))


def test_another_grid_takes_the_table_of_offsets_resampled_as_a_picture():
    relative = Bias().build(2, 4, Site(width=8, grid=(3, 4), prefix=1), None)
    table = nn.init.normal_(relative.table.weight)
    q, k = torch.randn(2, 1, 2, 1 + 10, 4)
    bias = relative(q, k, (5, 2))[2]
    assert_close(bias, _spread(resample(table, (5, 7), (9, 3)), (5, 2), (5, 2), 1))


def _projected(attention: nn.Module, x: Tensor) -> list[Tensor]:
    """Queries, keys and values from the fused projection: the first, second and last third of its rows."""
    rows = zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3), strict=True)
    return [naive.heads(x @ weight.T + bias, 2) for weight, bias in rows]


def test_self_attention_adds_the_bias_to_its_scores():
    attention = SelfAttention(heads=2, relative=Bias()).build(Site(width=8, grid=(2, 3), prefix=1)).double()
    nn.init.normal_(attention.relative.table.weight)
    x = torch.randn(2, 7, 8, dtype=torch.float64)
    bias = _spread(attention.relative.table.weight, (2, 3), (2, 3), 1)
    mixed = naive.side_by_side(naive.attend(*_projected(attention, x), bias))
    expected = mixed @ attention.proj.weight.T + attention.proj.bias
    assert_close(attention(x, (2, 3)), expected)


@pytest.mark.parametrize("shift", [0, 1])
def test_in_windows_the_bias_spans_the_window(shift):
    grid = (5, 4)  # 3 divides neither side
    description = SelfAttention(heads=2, relative=Bias(), core=Window(size=3, shift=shift))
    attention = description.build(Site(width=8, grid=grid)).double()
    table = nn.init.normal_(attention.relative.table.weight)
    assert table.shape == (25, 2)

    def window(i: int) -> tuple[int, int]:
        return (i // grid[1] - shift) // 3, (i % grid[1] - shift) // 3

    x = torch.randn(2, 20, 8, dtype=torch.float64)
    q, k, v = _projected(attention, x)
    mixed = naive.attend(q, k, v, _spread(table, (3, 3), grid, 0), sees=lambda i, j: window(i) == window(j))
    expected = naive.side_by_side(mixed) @ attention.proj.weight.T + attention.proj.bias
    assert_close(attention(x, grid), expected)
