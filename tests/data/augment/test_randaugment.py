"""RandAugment: each operation against Pillow's own, strengths against the paper's, drawn for each image alone."""

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from vitlab.data.augment import batched, single
from vitlab.data.augment.operations import INDEX, NAMES, drawn, strength
from vitlab.data.augment.randaugment import RandAugment
from vitlab.errors import UserError


def _picture(channels: int, rows: int = 32, columns: int = 40) -> np.ndarray:
    """Smooth as photographs are, in values that do not reach the ends."""
    coarse = np.random.default_rng(0).integers(20, 230, (8, 8, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((columns, rows), Image.Resampling.BICUBIC))[..., :channels]


def _by_batch(picture: np.ndarray, name: str, sign: int, magnitude: int) -> np.ndarray:
    images = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
    found = batched.vary(images, torch.tensor([INDEX[name]]), torch.tensor([sign]), magnitude)
    return found[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("magnitude", [3, 10, 30])
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_varied_as_pillow_varies_one_image(name: str, magnitude: int, channels: int) -> None:
    picture = _picture(channels)
    for sign in (-1, 1):
        wanted = single.vary(picture, [INDEX[name]], [sign], magnitude)
        apart = np.abs(_by_batch(picture, name, sign, magnitude).astype(int) - wanted)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01


def _reference(image: Image.Image, name: str, sign: int) -> Image.Image:
    """Magnitude 10 of 30 with the paper's figures written out."""
    height, width = image.height, image.width
    cos, sin = math.cos(math.radians(sign * 10)), math.sin(math.radians(sign * 10))
    x, y = width / 2, height / 2
    rotation = cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y
    move = sign * int(50 / 331 * width), sign * int(50 / 331 * height)
    maps = {
        "rotate": rotation,
        "shear_x": (1, sign * 0.1, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, sign * 0.1, 1, 0),
        "translate_x": (1, 0, move[0], 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, move[1]),
    }
    if name in maps:
        return image.transform(image.size, Image.Transform.AFFINE, maps[name], Image.Resampling.BILINEAR)
    return {
        "identity": lambda: image,
        "auto_contrast": lambda: ImageOps.autocontrast(image),
        "equalize": lambda: ImageOps.equalize(image),
        "posterize": lambda: ImageOps.posterize(image, 7),
        "solarize": lambda: ImageOps.solarize(image, 170),
        "brightness": lambda: ImageEnhance.Brightness(image).enhance(1 + sign * 0.3),
        "contrast": lambda: ImageEnhance.Contrast(image).enhance(1 + sign * 0.3),
        "color": lambda: ImageEnhance.Color(image).enhance(1 + sign * 0.3),
        "sharpness": lambda: ImageEnhance.Sharpness(image).enhance(1 + sign * 0.3),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_strengths_are_the_papers(name: str) -> None:
    picture = _picture(3)
    for sign in (-1, 1):
        wanted = np.asarray(_reference(Image.fromarray(picture), name, sign))
        apart = np.abs(single.vary(picture, [INDEX[name]], [sign], 10).astype(int) - wanted)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01


def test_the_ends_of_the_scale() -> None:
    assert [strength(name, 30) for name in ("rotate", "shear_x", "posterize", "solarize", "color")] == [
        30, 0.3, 4, 0, 0.9,
    ]  # fmt: skip
    assert strength("translate_x", 30) == pytest.approx(150 / 331)
    assert [strength(name, 0) for name in ("rotate", "shear_y", "posterize", "solarize", "color")] == [0, 0, 8, 255, 0]


@pytest.mark.parametrize("value", [0, 77, 255])
def test_one_value_all_over_and_tiny_images(value: int) -> None:
    """Where a channel has one value, a division by nothing lurks; of two rows, none has two neighbours."""
    for shape in ((2, 2, 3), (1, 5, 1), (9, 9, 3)):
        picture = np.full(shape, value, np.uint8)
        for name in NAMES:
            wanted = single.vary(picture, [INDEX[name]], [1], 10)
            assert np.abs(_by_batch(picture, name, 1, 10).astype(int) - wanted).max() <= 1, name


def test_every_operation_and_direction_has_an_even_chance() -> None:
    which, signs = drawn(14_000, 2, torch.Generator().manual_seed(1))
    counts = torch.bincount(which.flatten(), minlength=len(NAMES))
    assert counts.min() > 1800
    assert counts.max() < 2200
    assert abs(float(signs.float().mean())) < 0.02
    assert not torch.equal(which[:, 0], which[:, 1])


def _varied(images: Tensor, seed: int) -> Tensor:
    targets = torch.eye(len(images))
    found, after = RandAugment().apply(images, targets, torch.Generator().manual_seed(seed))
    assert torch.equal(after, targets)
    return found


@pytest.mark.parametrize("channels", [1, 3])
def test_each_image_draws_its_own_and_the_generator_decides(channels: int) -> None:
    images = torch.randint(0, 256, (1, channels, 16, 16), generator=torch.Generator().manual_seed(9)).float()
    images = images.expand(64, -1, -1, -1)
    torch.manual_seed(5)
    first = _varied(images, 3)
    torch.manual_seed(6)  # the global generator has no say, and is left as it was
    before = torch.get_rng_state()
    assert torch.equal(_varied(images, 3), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(_varied(images, 4), first)
    assert len({bytes(image.numpy()) for image in first}) > 40
    assert float(first.min()) >= 0
    assert float(first.max()) <= 255


def test_channels_that_have_no_colour_are_refused() -> None:
    with pytest.raises(UserError, match="1 or 3 channels, not 12"):
        _varied(torch.zeros(2, 12, 8, 8), 0)
