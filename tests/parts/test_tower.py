"""The tower of pooling convolutions against the same written out, and its grid against what comes out."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.filters import Learned
from vitlab.parts.tower import Tower


def test_a_tower_is_filters_then_convolutions_of_which_the_first_of_a_stage_pools():
    module = Tower(filters=Learned(count=5), widths=(4,), convolutions=2).build(3, 6).eval()
    for norm in (layer.norm for layer in module.layers):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    images = torch.randn(2, 3, 14, 19)
    maps = functional.gelu(functional.conv2d(images, module.filters.weight, module.filters.bias))
    for i, layer in enumerate(module.layers):
        maps = functional.conv2d(maps, layer.convolution.weight, padding=1)
        if i % 2 == 0:
            rows, columns = maps.shape[2] // 2, maps.shape[3] // 2
            maps = maps[:, :, : 2 * rows, : 2 * columns].unflatten(3, (columns, 2)).unflatten(2, (rows, 2)).amax((3, 5))
        norm = layer.norm
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        maps = (maps - norm.running_mean[:, None, None]) * scale[:, None, None] + norm.bias[:, None, None]
        maps = functional.gelu(maps)
    tokens, grid = module(images)
    assert grid == tuple(maps.shape[2:]) == (3, 4)
    assert_close(tokens.view(2, 3, 4, 6).permute(0, 3, 1, 2), maps, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("image", [(5, 5), (32, 32), (33, 40), (14, 19)])
def test_the_grid_is_what_comes_out(image):
    tower = Tower(filters=Learned(count=2), widths=(3,))
    tokens, grid = tower.build(1, 4)(torch.zeros(2, 1, *image))
    assert grid == tower.grid(image)
    assert tokens.shape == (2, grid[0] * grid[1], 4)


def test_an_image_too_small_for_its_stages():
    with pytest.raises(UserError, match=r"an image of 4x9 is too small for 2 stages .* at least 5x5"):
        Tower().grid((4, 9))
