"""Whitening filters: what they make of the images they were taken from has variance one in every direction."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.parts.filters import Learned, Whitening
from vitlab.parts.sighted import sighted


def _images(count: int, channels: int) -> torch.Tensor:
    """Smooth ones, whose neighbouring pixels are nearly equal, with a mean of zero."""
    coarse = torch.randn(count, channels, 4, 4, generator=torch.Generator().manual_seed(0))
    images = torch.nn.functional.interpolate(coarse, size=(16, 17), mode="bilinear") @ torch.eye(17)
    images = images + 0.1 * torch.randn(images.shape, generator=torch.Generator().manual_seed(1))
    return images - images.mean()


@pytest.mark.parametrize("channels", [1, 3])
def test_filters_of_the_images_seen_are_white_over_them(channels):
    module, images = Whitening(least=1e-9).build(channels), _images(200, channels)
    module.see(images)
    values = torch.nn.functional.conv2d(images, module.weight).transpose(0, 1).flatten(1).double()
    half = values[: 4 * channels]
    assert_close(half @ half.T / half.shape[1], torch.eye(4 * channels, dtype=torch.float64), rtol=0, atol=1e-3)
    assert torch.equal(values[4 * channels :], -half)


def test_faint_directions_are_held_down():
    module, images = Whitening(least=0.5).build(3), _images(200, 3)
    module.see(images)
    products = torch.nn.functional.unfold(images.double(), 2).transpose(1, 2).flatten(0, 1)
    strength = torch.linalg.eigvalsh(products.T @ products / len(products))
    assert_close(module.weight[:12].flatten(1).norm(dim=1).double(), (strength + 0.5 * strength.max()) ** -0.5)


def test_filters_stay_as_they_are_while_their_bias_learns():
    module = Whitening().build(3)
    module(torch.randn(2, 3, 5, 5)).sum().backward()
    assert module.weight.grad is None
    assert_close(module.bias.grad, torch.full((24,), 32.0))


def test_only_filters_that_want_to_see_are_shown_images():
    assert sighted(Whitening().build(1)) != []
    assert sighted(Learned().build(1)) == []
