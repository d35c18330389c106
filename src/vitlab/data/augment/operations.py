"""RandAugment's operations: their names, and how strong each is at a magnitude of 0 to 30 (Cubuk et al. 2020).

Two files carry them out with the same outcome: `batched.py` on a whole batch, `single.py` on one image by Pillow.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

NAMES = (
    "identity", "auto_contrast", "equalize", "posterize", "solarize", "brightness", "contrast", "color", "sharpness",
    "rotate", "shear_x", "shear_y", "translate_x", "translate_y",
)  # fmt: skip
INDEX = {name: i for i, name in enumerate(NAMES)}
# What happens to a value hangs on the value (and on the whole image) alone: a table of 256 entries for each channel.
BY_VALUE = tuple(INDEX[n] for n in ("auto_contrast", "equalize", "posterize", "solarize", "brightness", "contrast"))
GEOMETRIC = tuple(INDEX[name] for name in ("rotate", "shear_x", "shear_y", "translate_x", "translate_y"))
BOTTOM = 30  # of the scale of magnitudes
GREY = (19595, 38470, 7471)  # of 65,536: red, green and blue in grey, ITU-R 601-2


class Drawn(NamedTuple):
    """Which operations a batch gets, in which direction: (images, operations)."""

    which: Tensor
    sign: Tensor


def drawn(count: int, operations: int, generator: Generator) -> Drawn:
    """Every operation as likely as any other, either direction as likely as the other, an image at a time."""
    which = torch.randint(len(NAMES), (count, operations), generator=generator)
    return Drawn(which, 2 * torch.randint(2, (count, operations), generator=generator) - 1)


def strength(name: str, magnitude: int) -> float:
    """How far an operation goes: degrees, a slope, a share of the side, bits, a threshold, or a factor beyond 1."""
    share = magnitude / BOTTOM
    if name == "rotate":
        return 30 * share
    if name.startswith("shear"):
        return 0.3 * share
    if name.startswith("translate"):
        return 150 / 331 * share
    if name == "posterize":
        return 8 - round(4 * share)
    if name == "solarize":
        return round(255 * (1 - share))
    return 0.9 * share if name in ("brightness", "contrast", "color", "sharpness") else 0.0


def affine(name: str, amount: float, height: int, width: int) -> tuple[float, ...]:
    """From where a pixel lands to where it comes from, in pixels: x' = a x + b y + c, y' = d x + e y + f.

    Turned around the middle, slanted from the upper left corner, moved by whole pixels, as the paper's code has it.
    """
    if name == "rotate":
        angle = torch.deg2rad(torch.tensor(amount, dtype=torch.float64))
        cos, sin = float(angle.cos()), float(angle.sin())
        x, y = width / 2, height / 2
        return cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y
    across = amount if name == "shear_x" else 0.0
    along = amount if name == "shear_y" else 0.0
    right = float(int(amount * width)) if name == "translate_x" else 0.0
    down = float(int(amount * height)) if name == "translate_y" else 0.0
    return 1.0, across, right, along, 1.0, down
