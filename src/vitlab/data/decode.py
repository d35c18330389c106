"""Files and arrays to pictures: the one place where bytes from strangers are opened."""

import contextlib
import io
import stat
import warnings
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from vitlab.errors import UserError

Array = NDArray[np.uint8]
Picture = Image.Image | Array

MAX_PIXELS = 128 * 1024 * 1024  # beyond it a file is taken for a decompression bomb
# Here and not around each opening, which happens in many threads at once; the limit is ours.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def decode(path: Path) -> Image.Image:
    """The picture in a file, turned upright as its EXIF tag says; a sentence when there is none."""
    _check_ends(path)
    try:
        with path.open("rb") as handle:
            return _decode(handle, str(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def decode_bytes(content: bytes, name: str) -> Image.Image:
    """The same for the content of a file that lies in another one; `name` is what people know it by."""
    return _decode(io.BytesIO(content), name)


def _decode(handle: BinaryIO, name: str) -> Image.Image:
    try:
        with Image.open(handle) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            image.load()
            picture = ImageOps.exif_transpose(image)
    except Image.DecompressionBombError:
        raise UserError(f"{name} has more than {MAX_PIXELS:,} pixels, which are not decoded; scale it down") from None
    except UnidentifiedImageError:
        raise UserError(f"{name} is no image that can be decoded; remove it or give another file") from None
    except Exception as error:  # decoders raise anything at all on hostile bytes
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise UserError(f"{name} is a broken image ({reason}); remove it or give another file") from None
    _check_mode(picture, name)
    return picture


def _check_ends(path: Path) -> None:
    """Refuse what is no file: reading from a pipe waits for ever. What is not there is told when it is opened."""
    with contextlib.suppress(OSError):
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
            raise UserError(f"{path} is a pipe, socket or device and no file; remove it or give another file")


def in_channels(picture: Picture, channels: int) -> list[Image.Image]:
    """A picture as single-channel images: grey for one channel, red, green and blue for three, else as they are."""
    if not isinstance(picture, np.ndarray | Image.Image):
        raise UserError(f"an image is a path, a PIL image or a uint8 array, not a {type(picture).__name__}")
    if isinstance(picture, np.ndarray):
        if picture.dtype != np.uint8 or picture.ndim not in (2, 3) or picture.size == 0:
            raise UserError(
                f"an image array wants uint8 of shape (rows, columns[, channels]), "
                f"not {picture.dtype} of {picture.shape}"
            )
        planes = picture[..., None] if picture.ndim == 2 else picture
        if planes.shape[2] not in (1, 3, 4) or channels not in (1, 3):
            if planes.shape[2] != channels:
                raise UserError(f"the model takes {channels} channels, the image has {planes.shape[2]}")
            return [Image.fromarray(np.ascontiguousarray(planes[..., i])) for i in range(channels)]
        picture = Image.fromarray(np.ascontiguousarray(planes[..., 0] if planes.shape[2] == 1 else planes))
    if channels not in (1, 3):
        raise UserError(f"the model takes {channels} channels: give an array of shape (rows, columns, {channels})")
    return list(_to_mode(picture, "L" if channels == 1 else "RGB").split())


def _to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Grey or RGB; transparency is laid on white, 16 bits are scaled to 8."""
    _check_mode(image, "an image")
    if image.mode.startswith("I"):
        values = np.asarray(image, dtype=np.int64)
        wide = image.mode != "I" or values.max(initial=0) > 255  # 32 bits may hold a picture of 8
        image = Image.fromarray((values >> 8 if wide else values).clip(0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    return image.convert(mode)


def _check_mode(image: Image.Image, what: str) -> None:
    """Refuse pixels that have no one way to 8 bits: where white is in floating point, nobody says."""
    if image.mode in ("F", "LAB"):
        kind = {"F": "floating point", "LAB": "CIELAB"}[image.mode]
        raise UserError(f"{what} has pixels in {kind}; save it as grey or RGB of 8 or 16 bits")
