"""Image to tokens: every kind against loops over patches."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.patch import Conv, Overlap, Patch, Stem, Unfold


@pytest.mark.parametrize("size", [4, (2, 3)])
def test_conv_is_a_linear_map_of_each_patch_in_reading_order(size):
    height, width = (size, size) if isinstance(size, int) else size
    patch = Conv(size=size).build(3, 5)
    images = torch.randn(2, 3, 2 * height, 3 * width)
    tokens, grid = patch(images)
    assert grid == (2, 3)
    for r in range(2):
        for c in range(3):
            cut = images[:, :, r * height : (r + 1) * height, c * width : (c + 1) * width]
            expected = cut.reshape(2, -1) @ patch.proj.weight.reshape(5, -1).T + patch.proj.bias
            assert_close(tokens[:, r * 3 + c], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [4, (2, 3)])
def test_unfold_with_the_flattened_weight_of_a_convolution_equals_it(size):
    conv, unfold = Conv(size=size).build(3, 5), Unfold(size=size).build(3, 5)
    unfold.proj.load_state_dict({"weight": conv.proj.weight.flatten(1), "bias": conv.proj.bias})
    images = torch.randn(2, 3, 12, 24)
    (expected, grid), (found, same_grid) = conv(images), unfold(images)
    assert grid == same_grid
    assert_close(found, expected, rtol=1e-5, atol=1e-5)


def _convolve(images: Tensor, conv: nn.Conv2d, size: int, stride: int, padding: int) -> Tensor:
    """A convolution by loops over the places of its kernel."""
    padded = torch.zeros(*images.shape[:2], images.shape[2] + 2 * padding, images.shape[3] + 2 * padding)
    padded[:, :, padding : padding + images.shape[2], padding : padding + images.shape[3]] = images
    rows, columns = ((side - size) // stride + 1 for side in padded.shape[2:])
    out = torch.zeros(len(images), conv.out_channels, rows, columns)
    for r in range(rows):
        for c in range(columns):
            cut = padded[:, :, r * stride : r * stride + size, c * stride : c * stride + size]
            out[:, :, r, c] = torch.einsum("bcxy,ocxy->bo", cut, conv.weight)
    return out if conv.bias is None else out + conv.bias[:, None, None]


@pytest.mark.parametrize(
    ("description", "image", "grid", "padding"),
    [
        (Overlap(size=3, stride=2), (8, 10), (4, 5), 1),
        (Overlap(size=7, stride=4), (8, 13), (2, 4), 3),
        (Overlap(size=3, stride=2, padding=0), (9, 8), (4, 3), 0),
    ],
)
def test_overlap_equals_a_loop_over_the_places_of_its_kernel(description, image, grid, padding):
    patch = description.build(2, 4)
    images = torch.randn(2, 2, *image)
    tokens, found = patch(images)
    assert found == grid == description.grid(image)
    expected = _convolve(images, patch.proj, description.size, description.stride, padding)
    assert_close(tokens, expected.flatten(2).transpose(1, 2), rtol=1e-5, atol=1e-5)


def test_stem_is_strided_convolutions_with_norm_and_relu_between_them():
    description = Stem(widths=(4, 6))
    patch = description.build(3, 5)
    first, norm1, _, second, norm2, _, last = patch.layers
    for norm in (norm1, norm2):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    images = torch.randn(2, 3, 16, 24)
    x = images
    for conv, norm in ((first, norm1), (second, norm2)):
        x = _convolve(x, conv, 3, 2, 1)
        mean, variance, weight, bias = (
            each[:, None, None] for each in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
        )
        x = ((x - mean) / (variance + norm.eps).sqrt() * weight + bias).clamp(min=0)
    expected = _convolve(x, last, 3, 2, 1).flatten(2).transpose(1, 2)
    tokens, grid = patch.eval()(images)
    assert grid == description.grid((16, 24)) == (2, 3)
    assert_close(tokens, expected, rtol=1e-5, atol=1e-5)


def test_stem_of_no_widths_is_one_convolution_that_halves():
    assert Stem(widths=()).grid((6, 8)) == (3, 4)
    assert Stem(widths=()).build(3, 5)(torch.randn(1, 3, 6, 8))[1] == (3, 4)


@pytest.mark.parametrize("kind", ["conv", "unfold"])
def test_an_image_that_the_patch_does_not_divide_is_told_what_would(kind):
    description = Patch.model_validate({"kind": kind, "size": 16})
    with pytest.raises(UserError, match="16x16 do not divide an image of 30x40") as refused:
        description.grid((30, 40))
    assert "take a patch of 1, 2, 5, 10, or an image of 16x32 or 32x48" in str(refused.value)
    with pytest.raises(UserError, match="an image of 16x32 or 32x48"):
        description.build(1, 4)(torch.zeros(1, 1, 30, 40))


def test_an_image_that_a_stem_does_not_divide_is_told_what_would():
    with pytest.raises(UserError, match="8x8 do not divide an image of 28x32"):
        Stem().grid((28, 32))


def test_an_image_smaller_than_an_overlapping_patch_is_refused():
    with pytest.raises(UserError, match="an image of 8x30 is smaller than a patch of 9"):
        Overlap(size=9, stride=2, padding=0).grid((8, 30))


@pytest.mark.parametrize("size", [0, (2, -1)])
def test_a_patch_without_pixels_is_refused(size):
    with pytest.raises(UserError, match="has no pixels"):
        Conv(size=size).grid((8, 8))


def test_a_stem_without_channels_is_refused():
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        Stem(widths=(4, 0))
