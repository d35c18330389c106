"""Tables of positions against loops over tokens and channels; how they join the tokens."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.part import Site
from vitlab.parts.position import Factorised, Learned, Nowhere, Position, SinCos, Sinusoidal

SITE = Site(width=8, grid=(3, 5), prefix=2)
WITH_TABLES = ["learned", "sinusoidal", "sincos", "factorised"]


def _wander(module: nn.Module) -> nn.Module:
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def test_learned_adds_one_vector_a_token():
    position = _wander(Learned().build(SITE))
    assert position.table.vectors.weight.shape == (2 + 15, 8)
    x = torch.randn(2, 17, 8)
    for n in range(17):
        assert_close(position(x, (3, 5))[:, n], x[:, n] + position.table.vectors.weight[n])


def test_learned_without_prefix_leaves_prefix_tokens_as_they_are():
    position = _wander(Learned(prefix=False).build(SITE))
    assert position.table.vectors.weight.shape == (15, 8)
    x = torch.randn(2, 17, 8)
    out = position(x, (3, 5))
    assert torch.equal(out[:, :2], x[:, :2])
    assert_close(out[:, 2:], x[:, 2:] + position.table.vectors.weight)


@pytest.mark.parametrize("width", [8, 7])
@pytest.mark.parametrize("grid", [(3, 5), (4, 2)])
def test_sinusoidal_follows_the_place_in_the_sequence(width, grid):
    table = Sinusoidal().table(Site(width=width, grid=(3, 5), prefix=2))(grid)
    assert table.shape == (2 + grid[0] * grid[1], width)
    for n in range(len(table)):
        for d in range(width):
            # the exponent of the paper, 2i / D, with D the even width that an odd one is cut from
            angle = n / 10000 ** (2 * (d // 2) / (2 * math.ceil(width / 2)))
            assert float(table[n, d]) == pytest.approx(math.cos(angle) if d % 2 else math.sin(angle), abs=1e-6)


@pytest.mark.parametrize("grid", [(3, 5), (4, 2)])
def test_sincos_has_columns_then_rows_and_zeros_for_the_prefix(grid):
    table = SinCos().table(SITE)(grid)
    assert torch.equal(table[:2], torch.zeros(2, 8))
    for r in range(grid[0]):
        for c in range(grid[1]):
            speeds = [1.0, 10000 ** (-1 / 2)]
            expected = [wave(place * w) for place in (c, r) for wave in (math.sin, math.cos) for w in speeds]
            assert_close(table[2 + r * grid[1] + c], torch.tensor(expected))


def test_sincos_refuses_a_width_that_4_does_not_divide():
    with pytest.raises(UserError, match="a width that 4 divides, not 6"):
        SinCos().build(Site(width=6, grid=(2, 2)))


def test_factorised_is_the_vector_of_the_row_plus_that_of_the_column():
    table = _wander(Factorised().table(SITE))
    assert sum(parameter.numel() for parameter in table.parameters()) == (3 + 5) * 8
    found = table((3, 5))
    assert torch.equal(found[:2], torch.zeros(2, 8))
    for r in range(3):
        for c in range(5):
            assert torch.equal(found[2 + r * 5 + c], table.rows.weight[r] + table.columns.weight[c])


@pytest.mark.parametrize("kind", WITH_TABLES)
def test_concat_maps_tokens_and_places_each_by_a_matrix_of_its_own(kind):
    position = _wander(Position.model_validate({"kind": kind, "combine": "concat"}).build(SITE))
    x = torch.randn(2, 17, 8)
    w1, w2 = position.merge.weight[:, :8].T, position.merge.weight[:, 8:].T
    expected = x @ w1 + position.table((3, 5)) @ w2 + position.merge.bias
    assert_close(position(x, (3, 5)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", WITH_TABLES)
def test_added_is_the_table_in_the_dtype_of_the_tokens(kind):
    position = _wander(Position.model_validate(kind).build(SITE))
    x = torch.randn(2, 17, 8, dtype=torch.bfloat16)
    out = position(x, (3, 5))
    assert out.dtype == torch.bfloat16
    assert torch.equal(out, x + position.table((3, 5)).bfloat16())


def test_no_positions_change_nothing():
    x = torch.randn(2, 17, 8)
    assert Nowhere().build(SITE)(x, (3, 5)) is x


@pytest.mark.parametrize("kind", ["sinusoidal", "sincos"])
def test_a_formula_is_not_saved_with_the_weights(kind):
    assert Position.model_validate(kind).build(SITE).state_dict() == {}
