"""Heads that begin at a neighbour: against a double loop, and against a convolution."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from vitlab.parts.attention import SelfAttention
from vitlab.parts.kernels import attention_map
from vitlab.parts.neighbours import Neighbours
from vitlab.parts.part import Site
from vitlab.parts.window import Window

AROUND = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1), (-1, 1), (1, -1), (0, 0), (-1, 0)]  # ten heads


def _pull(grid: tuple[int, int], strength: float, floor: float) -> Tensor:
    """By a loop over heads, queries and keys."""
    count = grid[0] * grid[1]
    pull = torch.empty(len(AROUND), count, count)
    for h, (down, right) in enumerate(AROUND):
        for i in range(count):
            for j in range(count):
                (r, c), (s, t) = divmod(i, grid[1]), divmod(j, grid[1])
                pull[h, i, j] = max(-strength * ((s - r - down) ** 2 + (t - c - right) ** 2), -floor)
    return pull


def _relative(grid: tuple[int, int], prefix: int = 0, **fields: float) -> nn.Module:
    relative = Neighbours(**fields).build(10, 4, Site(width=40, grid=grid, prefix=prefix), None)
    nn.init.zeros_(relative.learned.table.weight)
    return relative


@pytest.mark.parametrize("grid", [(3, 4), (5, 2)])
@pytest.mark.parametrize("prefix", [0, 2])
def test_each_head_is_drawn_to_its_neighbour_and_the_prefix_to_none(grid, prefix):
    relative = _relative((3, 4), prefix, strength=0.5, floor=3.0)
    x = torch.randn(1, 10, prefix + grid[0] * grid[1], 4)
    q, k, bias = relative(x, x, grid)
    assert q is x
    assert k is x
    assert torch.equal(bias[:, prefix:, prefix:], _pull(grid, 0.5, 3.0))
    assert not bias[:, :prefix].any()
    assert not bias[:, :, :prefix].any()


def test_what_is_learned_is_added():
    relative = _relative((3, 4))
    fixed = relative(*torch.zeros(2, 1, 10, 12, 4), (3, 4))[2]
    table = nn.init.normal_(relative.learned.table.weight)
    learned = relative(*torch.zeros(2, 1, 10, 12, 4), (3, 4))[2] - fixed
    assert_close(learned[:, 0, 1], table[(0 + 2) * 7 + (-1 + 3)])  # the key stands one column to the right
    assert_close(learned[:, 8, 0], table[(2 + 2) * 7 + (0 + 3)])


def test_drawn_strongly_the_heads_are_a_convolution_of_three_by_three():
    grid, values = (4, 5), torch.randn(1, 9, 20, 1)
    relative = Neighbours(strength=100, floor=100).build(9, 1, Site(width=9, grid=grid), None)
    nn.init.zeros_(relative.learned.table.weight)
    zeros = torch.zeros(1, 9, 20, 1)
    looked = attention_map(*relative(zeros, zeros, grid)[:2], relative(zeros, zeros, grid)[2]) @ values
    planes = functional.pad(values[0, :, :, 0].reshape(9, *grid), (1, 1, 1, 1))
    for h, (down, right) in enumerate(AROUND[:9]):
        moved = planes[h, 1 + down : 5 + down, 1 + right : 6 + right]
        inside = (slice(max(-down, 0), 4 - max(down, 0)), slice(max(-right, 0), 5 - max(right, 0)))
        assert_close(looked[0, h, :, 0].reshape(grid)[inside], moved[inside])


def test_in_windows_it_spans_the_window():
    description = SelfAttention(heads=10, relative=Neighbours(), core=Window(size=3))
    attention = description.build(Site(width=40, grid=(6, 6)))
    assert torch.equal(attention.relative.pull, _pull((3, 3), 1.0, 6.0))
    assert attention(torch.randn(2, 36, 40), (6, 6)).shape == (2, 36, 40)
