"""What is seen in one decoded picture: whether it is worth learning from, and the hashes it is known again by.

Two hashes. The digest is of every pixel as the model would see it in colour, so that the same picture saved as PNG and
as BMP, or in grey and in RGB, is the same. The *difference hash* says for a grid of 8 x 8 places whether it grows
lighter to the right and downwards: 128 bits, of which saving again or a slight turn changes a few.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitlab.data.decode import Picture, in_channels

SMALLEST = 8  # pixels: a side shorter than this is called tiny
LONGEST = 6  # times its width: a picture longer than this is called elongated
# Likeness is evidence in pictures that hold some: not below 32 pixels (a fifth of MNIST's ones look alike), nor in a
# drawing on an empty page, where fewer than a quarter of the places grow lighter or darker at all.
NEAR_FROM = 32
EVENTFUL = 32  # of the 128 places
HASH_BYTES = 16
THUMB = 32
Hash = NDArray[np.uint8]


@dataclass(frozen=True)
class Sight:
    """One picture by its hashes; without a difference hash when likeness would say nothing."""

    digest: bytes
    difference: bytes | None
    said: tuple[tuple[str, str], ...] = ()

    @property
    def uniform(self) -> bool:
        return any(kind == "uniform" for kind, _ in self.said)


def see(picture: Picture) -> Sight:
    """Hashes of a picture, and what is odd about it."""
    image = in_colour(picture)
    width, height = image.size
    said = []
    if min(width, height) < SMALLEST:
        said.append(("tiny", f"has {width} x {height} pixels"))
    if max(width, height) > LONGEST * min(width, height):
        said.append(("elongated", f"has {width} x {height} pixels; most of it is cut away or nothing is left of it"))
    uniform = all(low == high for low, high in _extrema(image))
    if uniform:
        said.append(("uniform", "is of one colour, with nothing to learn from"))
    digest = hashlib.sha256(f"{width} {height}".encode())
    digest.update(image.tobytes())
    likeness = None if uniform or min(width, height) < NEAR_FROM else difference_hash(image)
    return Sight(digest.digest(), likeness, tuple(said))


def difference_hash(image: Image.Image) -> bytes | None:
    """Where it grows lighter to the right, and where downwards; None where that says too little."""
    grey = image.convert("L")
    across = np.asarray(grey.resize((9, 8), Image.Resampling.BOX), dtype=np.int16)
    down = np.asarray(grey.resize((8, 9), Image.Resampling.BOX), dtype=np.int16)
    steps = np.concatenate([np.diff(across, axis=1).ravel(), np.diff(down, axis=0).ravel()])
    return np.packbits(steps > 0).tobytes() if np.count_nonzero(abs(steps) > 1) >= EVENTFUL else None


def thumb(picture: Picture) -> NDArray[np.float32]:
    """A small version to compare two candidates by, of mean zero and length one."""
    small = in_colour(picture).resize((THUMB, THUMB), Image.Resampling.BOX)
    values = np.asarray(small, dtype=np.float32)
    values = values - values.mean()
    return values / max(float(np.linalg.norm(values)), 1e-6)


def in_colour(picture: Picture) -> Image.Image:
    """The picture in RGB, by the one way of the training; of a stack of other channels the first three or one."""
    if isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[2] not in (1, 3, 4):
        picture = picture[..., :3] if picture.shape[2] > 3 else picture[..., 0]
    if isinstance(picture, Image.Image) and picture.mode == "RGB" and "transparency" not in picture.info:
        return picture
    return Image.merge("RGB", in_channels(picture, 3))


def _extrema(image: Image.Image) -> list[tuple[int, int]]:
    return [(int(low), int(high)) for low, high in image.getextrema()]  # type: ignore[misc]
