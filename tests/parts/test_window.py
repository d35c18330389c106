"""Windows and shifted windows against one query at a time; nothing leaks across the border of the image."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.part import Site
from vitlab.parts.window import Window

from . import naive

CASES = [
    ((6, 6), 3, 0),
    ((6, 9), 3, 1),
    ((4, 8), 4, 2),
    ((5, 7), 3, 0),  # not divided: padded
    ((5, 7), 3, 1),
    ((7, 5), 3, 2),
    ((2, 3), 4, 0),  # smaller than a window
    ((2, 3), 4, 1),
]


def _sees(grid: tuple[int, int], size: int, shift: int) -> naive.Sees:
    """Token i looks at token j if both stand in the same window, the first of which starts at the shift."""

    def window(i: int) -> tuple[int, int]:
        return (i // grid[1] - shift) // size, (i % grid[1] - shift) // size

    return lambda i, j: window(i) == window(j)


@pytest.mark.parametrize(("grid", "size", "shift"), CASES)
def test_tokens_look_at_their_window_alone(grid, size, shift):
    core = Window(size=size, shift=shift).build(2, 4, Site(width=8, grid=grid))
    q, k, v = naive.qkv(2, grid[0] * grid[1], 4)
    assert_close(core(q, k, v), naive.attend(q, k, v, sees=_sees(grid, size, shift)))


@pytest.mark.parametrize(("grid", "size", "shift"), CASES)
def test_the_map_is_zero_outside_the_window(grid, size, shift):
    core = Window(size=size, shift=shift).build(1, 4, Site(width=4, grid=grid))
    q, k, _ = naive.qkv(1, grid[0] * grid[1], 4, images=1)
    weights, sees = core.map(q, k)[0, 0], _sees(grid, size, shift)
    for i in range(len(weights)):
        for j in range(len(weights)):
            assert (float(weights[i, j]) > 0) == sees(i, j)


def test_without_shift_or_padding_there_is_no_mask_to_add():
    assert Window(size=3).build(1, 4, Site(width=4, grid=(6, 9))).mask is None


GRID = (6, 6)
BORDERS = [(0, 2), (2, 0), (0, 0)]  # tokens before the shift, which the roll carries to the opposite side


def _changed(core: torch.nn.Module, row: int, column: int) -> torch.Tensor:
    """Which outputs change when the key and value of one token change, as a picture of the grid."""
    q, k, v = (x.float() for x in naive.qkv(1, 36, 4, images=1))
    other_k, other_v = k.clone(), v.clone()
    other_k[:, :, row * 6 + column] += 3
    other_v[:, :, row * 6 + column] += 3
    return (core(q, k, v) != core(q, other_k, other_v)).any(dim=3)[0, 0].reshape(GRID)


@pytest.mark.parametrize(("row", "column"), BORDERS)
def test_a_shifted_window_does_not_leak_across_the_border(row, column):
    core = Window(size=3, shift=1).build(1, 4, Site(width=4, grid=GRID))
    sees = _sees(GRID, 3, 1)
    own = torch.tensor([[sees(r * 6 + c, row * 6 + column) for c in range(6)] for r in range(6)])
    assert torch.equal(_changed(core, row, column), own)
    opposite = torch.zeros(GRID, dtype=torch.bool)
    if row == 0:
        opposite[4:] = True
    if column == 0:
        opposite[:, 4:] = True
    assert not (own & opposite).any()

    core.mask = None  # without it the roll puts both borders into one window
    assert (_changed(core, row, column) & opposite).any()


def test_nobody_looks_at_the_padding():
    core = Window(size=4).build(1, 4, Site(width=4, grid=(3, 3)))
    q, k, v = naive.qkv(1, 9, 4, images=1)
    masked = core(q, k, v)
    assert_close(masked, naive.attend(q, k, v))
    core.mask = None
    assert not torch.allclose(core(q, k, v), masked)


def test_a_shift_as_long_as_the_window_is_refused():
    with pytest.raises(UserError, match="a shift of 3 does not fit windows of 3; take less than 3"):
        Window(size=3, shift=3).build(1, 4, Site(width=4, grid=(6, 6)))


def test_another_grid_is_refused_in_words():
    core = Window(size=3).build(1, 4, Site(width=4, grid=(6, 6)))
    q, k, v = (x.float() for x in naive.qkv(1, 35, 4, images=1))
    with pytest.raises(UserError, match="laid for a grid of 6x6 patches, not for 35 tokens"):
        core(q, k, v)
