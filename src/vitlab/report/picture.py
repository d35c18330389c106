"""A small image for the page: base64 PNG in, something an `<img>` can show out.

An 8x8 digit is shown enlarged with hard pixels, since that is what the model saw; a large photograph is
made smaller first, so that two dozen of them do not turn the page into megabytes.
"""

import base64
import binascii
import io
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, UnidentifiedImageError

# An original up to this many bytes goes into the page untouched.
UNTOUCHED = 24_000
# The longer side of an image that had to be made smaller: twice the width it is shown at, for sharp screens.
LONGER_SIDE = 224
# Up to this many pixels a side, smoothing would show detail that was never there.
PIXELATED = 64


@dataclass(frozen=True)
class Picture:
    """An image ready for the page."""

    source: str
    width: int
    height: int

    @property
    def pixelated(self) -> bool:
        """Whether its pixels should be seen as squares."""
        return max(self.width, self.height) <= PIXELATED


@lru_cache(maxsize=64)
def picture(encoded: str) -> Picture | None:
    """The image in a base64 PNG, or None when it is none."""
    try:
        data = base64.b64decode(encoded, validate=True)
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            width, height = image.size
            if len(data) <= UNTOUCHED:
                image.verify()
                return Picture(f"data:image/png;base64,{encoded}", width, height)
            image.thumbnail((LONGER_SIDE, LONGER_SIDE))
            smaller = io.BytesIO()
            image.convert("RGB").save(smaller, "JPEG", quality=85)
            shown = base64.b64encode(smaller.getvalue()).decode()
            return Picture(f"data:image/jpeg;base64,{shown}", *image.size)
    except (binascii.Error, ValueError, UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError):
        return None
