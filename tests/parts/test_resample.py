"""Tables shown another grid than their own: resampled as pictures, on the fly and beforehand alike."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from vitlab.parts.part import Site
from vitlab.parts.position import Factorised, Learned, Position, resample

GRIDS = [((3, 5), (6, 10)), ((3, 5), (5, 3)), ((6, 4), (3, 2)), ((4, 4), (7, 3))]


def _tent(x: float) -> float:
    return max(0.0, 1 - abs(x))


def _cubic(x: float) -> float:
    """Keys' cubic with a = -1/2."""
    x = abs(x)
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def _matrix(old: int, new: int, mode: str) -> Tensor:
    """Antialiased resampling of one axis: the kernel, widened when shrinking, around each new place's centre."""
    kernel = {"bilinear": _tent, "bicubic": _cubic}[mode]
    widen = max(old / new, 1)
    rows = []
    for i in range(new):
        centre = (i + 0.5) * old / new
        weights = [kernel((j + 0.5 - centre) / widen) for j in range(old)]
        rows.append([weight / math.fsum(weights) for weight in weights])
    return torch.tensor(rows)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("old", "new"), GRIDS)
def test_resampling_is_the_antialiased_filter_along_rows_and_columns(old, new, mode):
    table = torch.randn(old[0] * old[1], 2)
    picture = table.reshape(*old, 2)
    expected = torch.einsum("rs,ct,std->rcd", _matrix(old[0], new[0], mode), _matrix(old[1], new[1], mode), picture)
    assert_close(resample(table, old, new, mode), expected.reshape(-1, 2), rtol=1e-4, atol=1e-5)


def test_aliased_reads_four_neighbours_however_much_is_left_out():
    """Keys' cubic with a = -3/4, not widened when shrinking; beyond the edge the edge goes on."""
    table = torch.arange(8.0)[:, None].square()
    found = resample(table, (8, 1), (2, 1), "bicubic_aliased")[:, 0]
    weights = torch.tensor([-0.09375, 0.59375, 0.59375, -0.09375])  # half way between two places
    assert_close(found, torch.stack([weights @ table[i : i + 4, 0] for i in (0, 4)]))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_the_same_grid_gives_the_same_table(mode):
    table = torch.randn(15, 4)
    assert_close(resample(table, (3, 5), (3, 5), mode), table)


@pytest.mark.parametrize(("old", "new"), GRIDS)
def test_a_constant_table_remains_constant(old, new):
    vector = torch.randn(4)
    table = vector.expand(old[0] * old[1], 4)
    assert_close(resample(table, old, new), vector.expand(new[0] * new[1], 4))


def test_the_dtype_is_kept():
    assert resample(torch.randn(4, 4).bfloat16(), (2, 2), (3, 3)).dtype == torch.bfloat16


@pytest.mark.parametrize("own_prefix", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("old", "new"), GRIDS)
def test_learned_shown_another_grid_equals_its_table_resampled_beforehand(old, new, mode, own_prefix):
    description = Learned(prefix=own_prefix, resample=mode)
    shown = description.build(Site(width=4, grid=old, prefix=2))
    baked = description.build(Site(width=4, grid=new, prefix=2))
    table, first = nn.init.normal_(shown.table.vectors.weight), 2 if own_prefix else 0
    baked.table.vectors.weight.data = torch.cat([table[:first], resample(table[first:], old, new, mode)])
    x = torch.randn(2, 2 + new[0] * new[1], 4)
    assert torch.equal(shown(x, new), baked(x, new))


def test_factorised_shown_another_grid_resamples_rows_and_columns_apart():
    shown = Factorised().build(Site(width=4, grid=(3, 5), prefix=1)).table
    rows, columns = nn.init.normal_(shown.rows.weight), nn.init.normal_(shown.columns.weight)
    found = shown((6, 4))
    new_rows, new_columns = _matrix(3, 6, "bicubic") @ rows, _matrix(5, 4, "bicubic") @ columns
    for r in range(6):
        for c in range(4):
            assert_close(found[1 + r * 4 + c], new_rows[r] + new_columns[c], rtol=1e-4, atol=1e-5)


def test_factorised_resamples_only_the_axis_that_changed():
    shown = Factorised().build(Site(width=4, grid=(3, 5))).table
    found = shown((3, 8)).reshape(3, 8, 4)
    rows = shown.rows.weight
    assert_close(found[1] - found[0], (rows[1] - rows[0]).expand(8, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["sinusoidal", "sincos"])
def test_a_formula_shown_another_grid_equals_one_built_for_it(kind):
    description = Position.model_validate(kind)
    shown = description.build(Site(width=8, grid=(3, 5), prefix=1)).table((4, 2))
    assert torch.equal(shown, description.build(Site(width=8, grid=(4, 2), prefix=1)).table((4, 2)))
