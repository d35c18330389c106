"""RandAugment's operations on one image, by Pillow: the quick way for large images, as each core takes its own."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from vitlab.data.augment.operations import GEOMETRIC, NAMES, affine, strength

# Moved by whole pixels nothing lies between two of them: the nearest has the same value, at a tenth of the time.
_WHOLE = ("translate_x", "translate_y")
_PIXEL = np.dtype("V3")
_ENHANCE = {
    "brightness": ImageEnhance.Brightness,
    "contrast": ImageEnhance.Contrast,
    "color": ImageEnhance.Color,
    "sharpness": ImageEnhance.Sharpness,
}


def vary(picture: NDArray[np.uint8], which: list[int], signs: list[int], magnitude: int) -> NDArray[np.uint8]:
    """A picture (rows, columns, 1 or 3 channels) after these operations."""
    image = Image.fromarray(_in_one(picture) if picture.shape[2] == 3 else np.ascontiguousarray(picture[..., 0]))
    for index, sign in zip(which, signs, strict=True):
        image = _operation(image, index, sign, magnitude)
    return np.asarray(image).reshape(picture.shape)


def _in_one(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture in one stretch of memory. A mirrored view is copied by the pixel, three times as fast as by bytes."""
    if picture.strides[2] != 1:
        return np.ascontiguousarray(picture)
    return np.ascontiguousarray(picture.view(_PIXEL)[..., 0]).view(np.uint8).reshape(picture.shape)


def _operation(image: Image.Image, index: int, sign: int, magnitude: int) -> Image.Image:
    name = NAMES[index]
    amount = strength(name, magnitude)
    if index in GEOMETRIC:
        how = Image.Resampling.NEAREST if name in _WHOLE else Image.Resampling.BILINEAR
        where = affine(name, sign * amount, image.height, image.width)
        return image.transform(image.size, Image.Transform.AFFINE, where, how)
    if name in _ENHANCE:
        return _ENHANCE[name](image).enhance(1 + sign * amount)
    if name == "posterize":
        return ImageOps.posterize(image, int(amount))
    if name == "solarize":
        return ImageOps.solarize(image, int(amount))
    if name == "auto_contrast":
        return ImageOps.autocontrast(image)
    return ImageOps.equalize(image) if name == "equalize" else image
