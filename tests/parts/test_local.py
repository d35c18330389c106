"""Local plus global attention against one query at a time."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.part import Site
from vitlab.parts.sparse import Local

from . import naive

CASES = [
    ((4, 5), 1, 0, 0),
    ((4, 5), 1, 1, 0),
    ((5, 3), 2, 2, 0),
    ((4, 5), 1, 0, 2),
    ((4, 5), 1, 1, 3),
    ((2, 2), 3, 1, 0),  # the neighbourhood is the whole grid
    ((1, 2), 1, 1, 2),  # every patch global
]


def _sees(grid: tuple[int, int], radius: int, prefix: int, extra: int) -> naive.Sees:
    """Global tokens look at all and are looked at by all; patches look as far as the radius in rows and columns."""

    def sees(i: int, j: int) -> bool:
        if min(i, j) < prefix + extra:
            return True
        (r, c), (s, t) = divmod(i - prefix, grid[1]), divmod(j - prefix, grid[1])
        return max(abs(r - s), abs(c - t)) <= radius

    return sees


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("grid", "radius", "prefix", "extra"), CASES)
def test_tokens_look_at_their_neighbourhood_and_at_the_global_tokens(grid, radius, prefix, extra, biased):
    length = prefix + grid[0] * grid[1]
    core = Local(radius=radius, extra_global=extra).build(2, 4, Site(width=8, grid=grid, prefix=prefix))
    q, k, v = naive.qkv(2, length, 4)
    bias = torch.randn(2, length, length, dtype=torch.float64) if biased else None
    assert_close(core(q, k, v, bias), naive.attend(q, k, v, bias, sees=_sees(grid, radius, prefix, extra)))


@pytest.mark.parametrize(("grid", "radius", "prefix", "extra"), CASES)
def test_the_map_is_zero_where_a_token_does_not_look(grid, radius, prefix, extra):
    length = prefix + grid[0] * grid[1]
    core = Local(radius=radius, extra_global=extra).build(1, 4, Site(width=4, grid=grid, prefix=prefix))
    q, k, _ = naive.qkv(1, length, 4, images=1)
    weights, sees = core.map(q, k)[0, 0], _sees(grid, radius, prefix, extra)
    assert [[float(w) > 0 for w in row] for row in weights] == [
        [sees(i, j) for j in range(length)] for i in range(length)
    ]


def test_another_number_of_tokens_is_refused_in_words():
    core = Local().build(1, 4, Site(width=4, grid=(4, 5), prefix=1))
    q, k, v = (x.float() for x in naive.qkv(1, 20, 4, images=1))
    with pytest.raises(UserError, match="laid for 21 tokens, not 20"):
        core(q, k, v)
