"""fit cuts the middle and normalise is arithmetic, both against versions written out here."""

import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import ValidationError

from vitlab.data.preprocess import Preprocess


def _noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)


def _plain(size: tuple[int, int], channels: int = 3, **more: object) -> Preprocess:
    values = {"size": size, "channels": channels, "mean": [0.5] * channels, "std": [0.25] * channels, **more}
    return Preprocess.model_validate(values)


def test_the_right_size_is_left_alone() -> None:
    image = _noise(6, 9, 3)
    assert np.array_equal(_plain((6, 9)).fit(image).numpy(), np.moveaxis(image, -1, 0))


@pytest.mark.parametrize(("rows", "columns"), [(40, 80), (80, 40), (64, 64), (33, 71)])
@pytest.mark.parametrize("size", [(16, 16), (16, 24)])
@pytest.mark.parametrize("filter_", ["bilinear", "bicubic"])
def test_the_middle_is_cut_out(rows: int, columns: int, size: tuple[int, int], filter_: str) -> None:
    """By hand: the largest box of the frame's shape around the middle, then Pillow's resize of that box."""
    image = Image.fromarray(_noise(rows, columns))
    if rows * size[1] > columns * size[0]:
        tall, wide = columns * size[0] / size[1], float(columns)
    else:
        tall, wide = float(rows), rows * size[1] / size[0]
    left, top = (columns - wide) / 2, (rows - tall) / 2
    how = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}[filter_]
    wanted = image.resize((size[1], size[0]), how, box=(left, top, left + wide, top + tall))
    found = _plain(size, 1, interpolation=filter_).fit(image)[0].numpy()
    assert np.abs(found.astype(int) - np.asarray(wanted)).max() <= 1


def test_nothing_outside_the_middle_is_seen() -> None:
    image = np.zeros((20, 60), np.uint8)
    image[:, 20:40] = np.arange(20)[:, None]
    for fitting in (image, image.T.copy()):
        middle = fitting[:, 20:40] if fitting.shape == (20, 60) else fitting[20:40]
        assert np.array_equal(_plain((20, 20), 1).fit(fitting)[0].numpy(), middle)


def test_crop_takes_less_than_would_fit() -> None:
    image = _noise(40, 40)
    assert np.array_equal(_plain((20, 20), 1, crop=0.5).fit(image)[0].numpy(), image[10:30, 10:30])


@pytest.mark.parametrize("crop", [1.0, 0.8])
def test_stretched_is_resized_whole_and_cut_after(crop: float) -> None:
    """As other libraries do it in two steps; one box of the picture gives the same pixels."""
    image = Image.fromarray(_noise(33, 71))
    whole = image.resize((20, 20), Image.Resampling.BICUBIC)
    edge = round(20 * (1 - crop) / 2)
    wanted = np.asarray(whole)[edge : 20 - edge, edge : 20 - edge]
    found = _plain(wanted.shape, 1, crop=crop, shape="stretch").fit(image)[0].numpy()
    assert np.array_equal(found, wanted)


def test_a_crop_of_the_right_size_is_still_a_crop() -> None:
    image = _noise(20, 20)
    assert np.array_equal(
        _plain((20, 20), 1, crop=0.5).fit(image)[0].numpy(),
        np.asarray(Image.fromarray(image).resize((20, 20), Image.Resampling.BICUBIC, box=(5, 5, 15, 15))),
    )


def test_normalise_is_what_it_says() -> None:
    mean, std = (0.1, 0.5, 0.9), (0.2, 0.3, 1.5)
    images = torch.from_numpy(_noise(2, 3, 4, 5))
    found = _plain((4, 5), mean=mean, std=std).normalise(images)
    wanted = (images.numpy() / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    assert found.dtype == torch.float32
    assert np.abs(found.numpy() - wanted).max() < 1e-5


def test_twelve_channels_stay_apart() -> None:
    image = _noise(10, 10, 12)
    found = _plain((5, 5), 12).fit(image)
    for channel in range(12):
        assert torch.equal(found[channel], _plain((5, 5), 1).fit(image[..., channel].copy())[0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"std": [0.0, 1, 1]}, {"mean": [0.0]}, {"mean": [0, 0, float("nan")]}, {"std": [1, 1, float("inf")]},
        {"size": (0, 4)}, {"crop": 0.0}, {"crop": 1.5}, {"interpolation": "nearest"}, {"colour": 1},
    ],
)  # fmt: skip
def test_what_is_no_preprocessing(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Preprocess.model_validate({"size": (4, 4), "mean": [0.5] * 3, "std": [0.25] * 3, **wrong})
