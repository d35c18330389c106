"""Pictures (rows, columns, channels) of uint8 scaled quickly: torch's antialiased kernel for bytes, one core each."""

import threading

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

_LARGEST = 1 << 22  # bytes of a piece that each thread keeps room for
_ROOM = threading.local()


def resized(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Bilinear, each pixel a mean of all that it covers; channels lie beside each other, as in the picture."""
    rows, columns, channels = picture.shape
    # Told so by its strides, torch leaves channels where they are: otherwise it takes them apart and together again.
    laid_out = (rows * columns * channels, 1, columns * channels, channels)
    image = torch.from_numpy(_in_one(picture)).as_strided((1, channels, rows, columns), laid_out)
    scaled = functional.interpolate(image, size=size, mode="bilinear", antialias=True)
    found: NDArray[np.uint8] = scaled[0].permute(1, 2, 0).numpy()
    return found


def _in_one(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture in one stretch of memory that may be written to, as torch wants it, until this thread asks again.

    A piece of a picture is copied into room that the thread keeps: page faults of new room cost more than the copy.
    """
    if picture.nbytes > _LARGEST or (picture.flags.c_contiguous and picture.flags.writeable):
        return np.require(picture, requirements=["C", "W"])
    room: NDArray[np.uint8] | None = getattr(_ROOM, "bytes", None)
    if room is None:
        room = _ROOM.bytes = np.empty(_LARGEST, np.uint8)  # what is never written to takes no memory
    copy = room[: picture.nbytes].reshape(picture.shape)
    np.copyto(copy, picture)
    return copy
