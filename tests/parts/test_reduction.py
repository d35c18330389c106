"""Spatial reduction attention against loops over patches of patches."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.attention import Attention
from vitlab.parts.part import Site
from vitlab.parts.reduction import Reduced

from . import naive


@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize(("grid", "small"), [((4, 6), (2, 3)), ((5, 4), (2, 2))])
def test_keys_and_values_come_from_a_smaller_picture(grid, small, prefix):
    attention = Reduced(heads=2, ratio=2).build(Site(width=8, grid=grid, prefix=prefix)).double()
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = torch.randn(2, prefix + grid[0] * grid[1], 8, dtype=torch.float64)
    shrunk = [x[:, n] for n in range(prefix)]
    for r in range(small[0]):
        for c in range(small[1]):
            token = attention.reduce.bias.expand(2, 8)
            for down in range(2):
                for right in range(2):
                    at = prefix + (2 * r + down) * grid[1] + 2 * c + right
                    token = token + x[:, at] @ attention.reduce.weight[:, :, down, right].T
            shrunk.append(token)
    keys = torch.stack(shrunk, dim=1)
    keys = (keys - keys.mean(2, keepdim=True)) / (keys.var(2, unbiased=False, keepdim=True) + 1e-6).sqrt()
    keys = keys * attention.norm.weight + attention.norm.bias
    q = naive.heads(x @ attention.q.weight.T + attention.q.bias, 2)
    halves = zip(attention.kv.weight.chunk(2), attention.kv.bias.chunk(2), strict=True)
    k, v = (naive.heads(keys @ w.T + b, 2) for w, b in halves)
    expected = naive.side_by_side(naive.attend(q, k, v)) @ attention.proj.weight.T + attention.proj.bias
    assert_close(attention(x, grid), expected)


def test_a_linformer_core_mixes_the_fewer_keys():
    attention = Attention.model_validate(
        {"kind": "reduced", "heads": 2, "ratio": 2, "core": {"kind": "linformer", "rank": 3}}
    ).build(Site(width=8, grid=(5, 4), prefix=1))
    assert attention.core.mix_keys.weight.shape == (3, 1 + 2 * 2)
    x = torch.randn(2, 21, 8)
    assert attention(x, (5, 4)).shape == x.shape


@pytest.mark.parametrize("core", ["window", "local"])
def test_a_core_that_wants_as_many_keys_as_queries_is_refused(core):
    with pytest.raises(ValueError, match=f"a core of kind '{core}' wants as many keys as queries"):
        Attention.model_validate({"kind": "reduced", "heads": 2, "core": core})


def test_a_reduction_larger_than_the_grid_is_refused():
    with pytest.raises(UserError, match="a reduction of 3 leaves nothing of a grid of 4x2"):
        Reduced(heads=2, ratio=3).build(Site(width=8, grid=(4, 2)))
