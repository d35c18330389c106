"""A split decoded once into memory: uint8 images of one size, with their labels."""

import hashlib
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from vitlab.data.available import too_much
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError


@dataclass(frozen=True)
class Pictures:
    """Images and labels of a split, and the keys by which people know them."""

    images: UInt8[Tensor, "count channels X Y"]
    labels: Int64[Tensor, " count"]
    keys: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def fingerprint(self) -> str:
        """A hash of every pixel and label, to know the same data again."""
        digest = hashlib.sha256(repr(tuple(self.images.shape)).encode())
        digest.update(self.images.numpy().tobytes())
        digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:16]


def load(samples: Samples, preprocess: Preprocess) -> Pictures:
    """Decode and fit every sample of a split, on all cores; pixels are written where they will stay."""
    shape = (len(samples), preprocess.channels, *preprocess.size)
    if need := too_much(math.prod(shape)):
        raise UserError(
            f"{len(samples):,} images of {preprocess.size[0]}x{preprocess.size[1]} need {need}; "
            "take a smaller --size or fewer images"
        )
    images = torch.empty(shape, dtype=torch.uint8)

    def place(i: int) -> None:
        images[i] = preprocess.fit(samples.read(i))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(place, range(len(samples))):
            pass
    return Pictures(images, torch.tensor(samples.labels, dtype=torch.int64), samples.keys)


def statistics(images: UInt8[Tensor, "count channels X Y"]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, on the scale 0 to 1."""
    count = torch.zeros(images.shape[1], 256, dtype=torch.int64)
    for channel in range(images.shape[1]):
        count[channel] = torch.bincount(images[:, channel].flatten(), minlength=256)
    share = count.double() / count.sum(1, keepdim=True)
    value = torch.arange(256).double() / 255
    mean = share @ value
    std = (share * (value - mean[:, None]).square()).sum(1).sqrt()
    return tuple(round(v, 6) for v in mean.tolist()), tuple(round(max(v, 1e-3), 6) for v in std.tolist())
