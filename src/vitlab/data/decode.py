"""Files and arrays to pictures: the one place where bytes from strangers are opened."""

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from vitlab.errors import UserError

Array = NDArray[np.uint8]
Picture = Image.Image | Array

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
MAX_PIXELS = 128 * 1024 * 1024  # beyond it a file is taken for a decompression bomb


def files_below(top: Path) -> list[Path]:
    """The image files in a folder and in the folders below it, by their suffix, in sorted order."""
    return sorted(path for path in top.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())


def decode(path: Path) -> Image.Image:
    """The picture in a file, turned upright as its EXIF tag says; a sentence when there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit here is ours
            with Image.open(path) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise UserError(
                        f"{path}: {image.width} x {image.height} pixels are more than are decoded ({MAX_PIXELS:,}); "
                        "scale it down first"
                    )
                return ImageOps.exif_transpose(image.copy() if image.mode == "P" else image.convert(image.mode))
    except UserError:
        raise
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except Exception as error:  # decoders raise anything at all on hostile bytes
        reason = "not an image that can be decoded" if isinstance(error, UnidentifiedImageError) else error
        raise UserError(f"{path}: {reason}; remove it or give another file") from None


def in_channels(picture: Picture, channels: int) -> list[Image.Image]:
    """A picture as single-channel images: grey for one channel, red, green and blue for three, else as they are."""
    if isinstance(picture, np.ndarray):
        if picture.dtype != np.uint8 or picture.ndim not in (2, 3):
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
    if image.mode.startswith("I"):
        values = np.asarray(image, dtype=np.int64)
        image = Image.fromarray((values >> 8 if values.max(initial=0) > 255 else values).clip(0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    return image.convert(mode)
