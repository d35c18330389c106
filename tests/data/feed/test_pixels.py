"""The quick decoder against Pillow, to the last bit; and what is left to Pillow."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.data.feed.photos import BROKEN, PREPROCESS, make, photo
from vitlab.data.decode import decode
from vitlab.data.pixels import jpeg, pixels
from vitlab.errors import UserError


def _saved(image: Image.Image, kind: str = "JPEG", **how: object) -> bytes:
    held = io.BytesIO()
    image.save(held, kind, **how)
    return held.getvalue()


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
def test_the_same_bits_as_pillow(mode: str, subsampling: int, progressive: bool) -> None:
    content = _saved(photo(1, 101, 77).convert(mode), subsampling=subsampling, progressive=progressive, quality=80)
    channels = len(mode)
    wanted = np.asarray(Image.open(io.BytesIO(content))).reshape(101, 77, -1)
    found = jpeg(content, 3 if mode == "RGB" else 1)
    assert found is not None
    assert np.array_equal(found, wanted), channels


def _turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return _saved(photo(2, 40, 60), exif=exif)


@pytest.mark.parametrize(
    ("content", "channels"),
    [
        (_turned(), 3),
        (_saved(photo(2, 40, 60).convert("CMYK")), 3),
        (_saved(photo(2, 40, 60)), 1),
        (_saved(photo(2, 40, 60).convert("L")), 3),
        (_saved(photo(2, 40, 60), "PNG"), 3),
        (_saved(photo(2, 40, 60))[:-400], 3),
        (BROKEN, 3),
        (b"", 3),
    ],
    ids=["turned", "cmyk", "colour for one channel", "grey for three", "png", "cut short", "broken", "empty"],
)
def test_what_is_odd_is_left_to_pillow(content: bytes, channels: int) -> None:
    assert jpeg(content, channels) is None


def test_a_turned_file_comes_upright(tmp_path) -> None:
    samples = make(tmp_path, 4)
    (tmp_path / samples.keys[0]).write_bytes(_turned())
    assert np.array_equal(pixels(samples, 0, 3), np.asarray(decode(tmp_path / samples.keys[0])))
    assert pixels(samples, 0, 3).shape == (60, 40, 3)


def test_every_sample_as_reading_it_gives(tmp_path) -> None:
    samples = make(tmp_path, 6)
    photo(9, 50, 70).save(tmp_path / samples.keys[1], "PNG")  # whatever it is called
    for i in range(6):
        assert np.array_equal(pixels(samples, i, 3), np.asarray(samples.read(i)))
        assert PREPROCESS.fit(pixels(samples, i, 3)).equal(PREPROCESS.fit(samples.read(i)))
        grey = np.asarray(samples.read(i).convert("L"))
        assert np.array_equal(pixels(samples, i, 1)[..., 0], grey)


@pytest.mark.parametrize(("side", "wanted"), [(64, 1), (127, 1), (128, 2), (255, 2), (256, 4), (600, 8), (1100, 8)])
def test_a_scaled_decode_where_it_leaves_enough(side: int, wanted: int) -> None:
    content = _saved(photo(3, side, side + 30), quality=95)
    found = jpeg(content, 3, least=64)
    assert found is not None
    assert found.shape == (-(-side // wanted), -(-(side + 30) // wanted), 3)
    mean = np.asarray(Image.open(io.BytesIO(content)).resize(found.shape[1::-1], Image.Resampling.BOX))
    assert np.abs(mean.astype(int) - found).mean() < 3
    stored = PREPROCESS.store(found)
    assert min(stored.shape[:2]) == 64


def test_a_broken_file_is_the_sentence_that_reading_gives(tmp_path) -> None:
    samples = make(tmp_path, 4)
    (tmp_path / samples.keys[2]).write_bytes(BROKEN)
    with pytest.raises(UserError, match="is a broken image"):
        pixels(samples, 2, 3)
    (tmp_path / samples.keys[2]).unlink()
    with pytest.raises(UserError, match="cannot read"):
        pixels(samples, 2, 3)
