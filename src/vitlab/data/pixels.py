"""A sample's pixels as an array (rows, columns, channels), by the quickest decoder that gives Pillow's very bits.

Plain JPEG goes through simplejpeg, which holds the same libjpeg-turbo as Pillow; whatever is odd about a file (turned,
CMYK, several pictures, broken) is left to Pillow, which knows what to do or say.
"""

import io
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import Image
from PIL.ExifTags import Base

from vitlab.data.decode import MAX_PIXELS, Array, decode_bytes, in_channels
from vitlab.data.sources.source import Samples

_LARGEST_FILE = 1 << 28  # bytes that are read at once; beyond, Pillow reads what it needs
_MODES = {"RGB": "RGB", "L": "GRAY"}
_START = b"\xff\xd8\xff"


def pixels(samples: Samples, i: int, channels: int, least: int | None = None) -> Array:
    """The pixels at a position; with `least`, a JPEG whose sides stay above it may be decoded at 1/2, 1/4 or 1/8."""
    if samples.content is not None:
        name, content = samples.content(i)
    elif samples.file is not None and (found := _content(samples.file(i))) is not None:
        name, content = str(samples.file(i)), found
    else:
        picture = samples.read(i)
        if isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[2] == channels:
            return picture
        return _array(in_channels(picture, channels))
    quick = jpeg(content, channels, least)
    return quick if quick is not None else _array(in_channels(decode_bytes(content, name), channels))


def jpeg(content: bytes, channels: int, least: int | None = None) -> Array | None:
    """A plain JPEG decoded; None where Pillow has to look at it."""
    if not content.startswith(_START):
        return None
    try:
        with Image.open(io.BytesIO(content)) as header:
            size = header.height, header.width
            plain = header.format == "JPEG" and len(header.getbands()) == channels and size[0] * size[1] <= MAX_PIXELS
            if not plain or header.mode not in _MODES or header.getexif().get(Base.Orientation, 1) != 1:
                return None
        shrink = next((by for by in (8, 4, 2) if least and min(size) >= by * least), 1)
        high, wide = (-(-side // shrink) for side in size)
        found = simplejpeg.decode_jpeg(
            content, _MODES[header.mode], fastdct=False, fastupsample=False,
            min_height=high if shrink > 1 else 0, min_width=wide if shrink > 1 else 0, min_factor=shrink,
        )  # fmt: skip
    except Exception:  # decoders raise anything at all on hostile bytes; Pillow then says what it is
        return None
    return found if found.shape == (high, wide, channels) else None


def _content(path: Path) -> bytes | None:
    """A file's bytes; None where reading it whole is not the way, or fails: `Samples.read` then says why."""
    try:
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            return path.read_bytes()
    except (OSError, ValueError):
        pass
    return None


def _array(planes: list[Image.Image]) -> Array:
    return np.stack([np.asarray(plane) for plane in planes], axis=-1)
