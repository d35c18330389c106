"""How a map looks on an image: one ramp of colours for pictures, reports and the interactive page.

Dark is little and bright is much, also for eyes that tell no red from green, and in print. A map with both signs is
shown on the same ramp from its lowest value to its highest.
"""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# Red, green, blue at even steps, from little to much; lightness rises in even steps too.
RAMP = ((18, 12, 52), (84, 24, 110), (150, 40, 105), (210, 70, 75), (244, 124, 40), (252, 186, 62), (252, 250, 190))
_LEAST, _MOST = 0.25, 0.8  # how opaque the colour lies on the image, where little and where much
_DIMMED = 0.55  # of the image's brightness, so that bright always means much


def scaled(heat: NDArray[np.floating]) -> NDArray[np.float32]:
    """From 0 at the lowest value (or at zero, where none is below) to 1 at the highest."""
    low, high = min(float(heat.min()), 0.0), float(heat.max())
    found: NDArray[np.float32] = ((heat - low) / ((high - low) or 1.0)).astype(np.float32)
    return found


def coloured(share: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shares of one as red, green and blue from 0 to 255, between the steps of the ramp."""
    place = np.linspace(0, 1, len(RAMP))
    steps = np.array(RAMP, dtype=np.float32)
    return np.stack([np.interp(share, place, steps[:, channel]) for channel in range(3)], axis=-1).astype(np.float32)


def overlaid(image: NDArray[np.uint8], heat: NDArray[np.floating]) -> Image.Image:
    """The image in grey with a map's colours on it, each place of the map a rectangle."""
    rows, columns = image.shape[:2]
    share = np.asarray(
        Image.fromarray(scaled(heat)).resize((columns, rows), Image.Resampling.NEAREST), dtype=np.float32
    )
    grey = np.asarray(Image.fromarray(image).convert("L"), dtype=np.float32)[..., None]
    weight = (_LEAST + (_MOST - _LEAST) * share)[..., None]
    mixed = (1 - weight) * _DIMMED * grey + weight * coloured(share)
    return Image.fromarray(mixed.round().clip(0, 255).astype(np.uint8))


def as_png(image: Image.Image) -> bytes:
    """The bytes of a PNG file."""
    held = io.BytesIO()
    image.save(held, "PNG", optimize=True)
    return held.getvalue()


def enlarged(image: NDArray[np.uint8], least: int) -> NDArray[np.uint8]:
    """A small image with each pixel made a square, so that its longer side has at least so many."""
    times = max(1, -(-least // max(image.shape[:2])))
    return image.repeat(times, axis=0).repeat(times, axis=1)
