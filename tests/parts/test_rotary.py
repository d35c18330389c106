"""2-D rotary phases against complex numbers, and the property they are for."""

import cmath

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.part import Site
from vitlab.parts.rotary import Rotary


def _turned(vector: Tensor, row: int, column: int, base: float) -> list[float]:
    """Neighbouring channels as one complex number, turned by the row in the first half, by the column in the second."""
    quarter = len(vector) // 4
    out: list[float] = []
    for i in range(2 * quarter):
        angle = (row if i < quarter else column) * base ** (-(i % quarter) / quarter)
        z = complex(vector[2 * i], vector[2 * i + 1]) * cmath.exp(1j * angle)
        out += [z.real, z.imag]
    return out


@pytest.mark.parametrize("grid", [(3, 4), (2, 5)])
@pytest.mark.parametrize("prefix", [0, 2])
def test_patches_turn_as_complex_numbers_and_the_prefix_stands_still(grid, prefix):
    relative = Rotary(base=50.0).build(2, 8, Site(width=16, grid=(3, 4), prefix=prefix), None)
    q, k = torch.randn(2, 1, 2, prefix + grid[0] * grid[1], 8)
    turned_q, turned_k, bias = relative(q, k, grid)
    assert bias is None
    for x, turned in ((q, turned_q), (k, turned_k)):
        assert torch.equal(turned[:, :, :prefix], x[:, :, :prefix])
        for h in range(2):
            for r in range(grid[0]):
                for c in range(grid[1]):
                    n = prefix + r * grid[1] + c
                    expected = torch.tensor(_turned(x[0, h, n], r, c, 50.0))
                    assert_close(turned[0, h, n], expected, rtol=1e-5, atol=1e-5)


def test_the_product_depends_on_the_offset_alone():
    grid = (4, 5)
    relative = Rotary().build(1, 8, Site(width=8, grid=grid), None)
    q, k = (torch.randn(8).expand(1, 1, 20, 8) for _ in range(2))  # the same vector everywhere
    turned_q, turned_k, _ = relative(q, k, grid)
    scores = (turned_q @ turned_k.transpose(2, 3))[0, 0].reshape(4, 5, 4, 5)
    assert scores.std() > 0.1  # it does depend on the offset
    for down in range(4):
        for right in range(5):
            same = torch.stack([scores[r, c, r + down, c + right] for r in range(4 - down) for c in range(5 - right)])
            assert_close(same, same[0].expand_as(same), rtol=1e-4, atol=1e-5)


def test_turning_keeps_lengths():
    relative = Rotary().build(2, 8, Site(width=16, grid=(3, 4), prefix=1), None)
    q, k = torch.randn(2, 3, 2, 13, 8)
    assert_close(relative(q, k, (3, 4))[0].norm(dim=3), q.norm(dim=3))


def test_heads_of_a_width_that_4_does_not_divide_are_refused():
    with pytest.raises(UserError, match="a width that 4 divides, not 6"):
        Rotary().build(1, 6, Site(width=6, grid=(2, 2)), None)
