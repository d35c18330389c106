"""Every mode of Pillow and every array becomes grey or colour as a person would expect."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vitlab.data.decode import decode, decode_bytes, in_channels
from vitlab.errors import UserError


def _colours(picture: Image.Image | np.ndarray, channels: int = 3) -> np.ndarray:
    return np.stack([np.asarray(plane) for plane in in_channels(picture, channels)], axis=-1)


@pytest.fixture
def rgb() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def test_colour_and_grey(rgb: np.ndarray) -> None:
    image = Image.fromarray(rgb)
    assert np.array_equal(_colours(image), rgb)
    assert np.array_equal(_colours(rgb), rgb)
    grey = (rgb.astype(int) @ [19595, 38470, 7471] + 0x8000) >> 16  # ITU-R 601-2, as Pillow rounds it
    assert np.array_equal(_colours(image, 1)[..., 0], grey)
    assert np.array_equal(_colours(rgb, 1)[..., 0], grey)
    assert np.array_equal(_colours(Image.fromarray(rgb[..., 0])), np.repeat(rgb[..., :1], 3, axis=2))
    assert np.array_equal(_colours(rgb[..., 0], 1)[..., 0], rgb[..., 0])


def test_what_is_clear_is_white(rgb: np.ndarray) -> None:
    alpha = np.zeros((5, 7), np.uint8)
    alpha[:, 3:] = 255
    wanted = np.where(alpha[..., None] == 255, rgb, 255)
    clear = np.dstack([rgb, alpha])
    assert np.array_equal(_colours(Image.fromarray(clear)), wanted)
    assert np.array_equal(_colours(clear), wanted)
    half = np.dstack([np.zeros((1, 1, 3), np.uint8), np.full((1, 1), 128, np.uint8)])
    assert _colours(half)[0, 0].tolist() == [127, 127, 127]
    grey = Image.merge("LA", [Image.fromarray(rgb[..., 0]), Image.fromarray(alpha)])
    assert np.array_equal(_colours(grey, 1)[..., 0], np.where(alpha == 255, rgb[..., 0], 255))


def test_a_palette_with_a_clear_colour(tmp_path: Path) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putdata([0, 1])
    image.save(tmp_path / "plain.png")
    image.save(tmp_path / "clear.png", transparency=1)
    assert _colours(decode(tmp_path / "plain.png"))[0].tolist() == [[255, 0, 0], [0, 0, 255]]
    assert _colours(decode(tmp_path / "clear.png"))[0].tolist() == [[255, 0, 0], [255, 255, 255]]


@pytest.mark.parametrize("top", [65535, 200], ids=["bright", "dark"])
def test_sixteen_bits(tmp_path: Path, top: int) -> None:
    """A dark picture stays dark: what 16 bits mean does not hang on the brightest pixel."""
    values = np.linspace(0, top, 20).astype(np.uint16).reshape(4, 5)
    for name in ("a.png", "a.tif"):
        Image.fromarray(values).save(tmp_path / name)
        assert np.array_equal(_colours(decode(tmp_path / name), 1)[..., 0], values >> 8)


def test_bits_print_colours_and_thirty_two_bits() -> None:
    bits = Image.fromarray(np.array([[0, 255]], np.uint8)).convert("1")
    assert _colours(bits, 1)[0, :, 0].tolist() == [0, 255]
    ink = Image.new("CMYK", (1, 1), (0, 255, 255, 0))
    assert _colours(ink)[0, 0].tolist() == [255, 0, 0]
    wide = Image.fromarray(np.array([[0, 100, 255]], np.int32))
    assert _colours(wide, 1)[0, :, 0].tolist() == [0, 100, 255]


def test_upright_as_its_exif_says(tmp_path: Path, rgb: np.ndarray) -> None:
    image = Image.fromarray(rgb)
    turned = {3: (rgb[::-1, ::-1]), 6: np.rot90(rgb, -1), 8: np.rot90(rgb), 2: rgb[:, ::-1]}
    for orientation, wanted in turned.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        image.save(tmp_path / "a.png", exif=exif)
        assert np.array_equal(_colours(decode(tmp_path / "a.png")), wanted), orientation


def test_only_the_first_of_moving_pictures(tmp_path: Path) -> None:
    frames = [Image.new("L", (3, 3), grey) for grey in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert _colours(decode(tmp_path / "a.gif"), 1).max() == 10


@pytest.mark.parametrize("mode", ["F", "LAB"])
def test_pixels_without_one_way_to_eight_bits(mode: str) -> None:
    with pytest.raises(UserError, match=r"an image has pixels in .*; save it as grey or RGB of 8 or 16 bits"):
        in_channels(Image.new(mode, (2, 2)), 3)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UserError, match=r"pipe.png is a pipe, socket or device and no file; remove it"):
        decode(tmp_path / "pipe.png")


def test_bytes_are_decoded_as_the_file_is(tmp_path: Path, rgb: np.ndarray) -> None:
    Image.fromarray(rgb).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    assert np.array_equal(_colours(decode_bytes(content, "shard/a.png")), rgb)
    with pytest.raises(UserError, match=r"^shard/a.png is a broken image \(.*\); remove it or give another file$"):
        decode_bytes(content[:-30], "shard/a.png")
