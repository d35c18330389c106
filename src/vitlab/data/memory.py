"""A split decoded once into memory: uint8 images of one size, with their labels."""

import hashlib
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from vitlab.data.available import too_much
from vitlab.data.feed.feed import Batch, Feed, Picture, Statistics, spread
from vitlab.data.pixels import pixels
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError

MOST_BAD = 0.2


@dataclass(frozen=True)
class Pictures(Feed):
    """Images and labels of a split, and the keys by which people know them."""

    images: UInt8[Tensor, "count channels X Y"]
    labels: Int64[Tensor, " count"]
    keys: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # of each image that could not be decoded, what was wrong with it

    @property
    def fingerprint(self) -> str:
        """A hash of every pixel and label, to know the same data again."""
        digest = hashlib.sha256(repr(tuple(self.images.shape)).encode())
        digest.update(self.images.numpy().tobytes())
        digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:16]

    def statistics(self) -> Statistics:
        return statistics(self.images)

    def picture(self, position: int, draw: str) -> tuple[Picture, int]:
        return self.images[position].permute(1, 2, 0).numpy(), position

    def some(self) -> Batch:
        return self.images[spread(len(self))]

    def batches(self, size: int) -> Iterator[tuple[Batch, Tensor]]:
        return zip(self.images.split(size), torch.arange(len(self)).split(size), strict=True)


def load(samples: Samples, preprocess: Preprocess) -> Pictures:
    """Decode and fit every sample of a split, on all cores; pixels are written where they will stay.

    An image that cannot be decoded is left out, before any batch is made of it, and told of in `left_out`. Where more
    than a share of `MOST_BAD` is bad, something else is wrong than a file: that is refused.
    """
    shape = (len(samples), preprocess.channels, *preprocess.size)
    if need := too_much(math.prod(shape)):
        raise UserError(
            f"{len(samples):,} images of {preprocess.size[0]}x{preprocess.size[1]} need {need}; "
            "take a smaller --size or fewer images"
        )
    images = torch.empty(shape, dtype=torch.uint8)

    def place(i: int) -> str | None:
        try:
            images[i] = preprocess.fit(pixels(samples, i, preprocess.channels))
        except UserError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(place, range(len(samples))))
    labels = torch.tensor(samples.labels, dtype=torch.int64)
    bad = tuple(complaint for complaint in complaints if complaint is not None)
    if not bad:
        return Pictures(images, labels, samples.keys)
    if len(bad) > MOST_BAD * len(samples):
        raise UserError(f"{len(bad)} of {len(samples)} images cannot be used, the first because {bad[0]}")
    good = [i for i, complaint in enumerate(complaints) if complaint is None]
    return Pictures(images[good], labels[good], tuple(samples.keys[i] for i in good), bad)


def statistics(images: UInt8[Tensor, "count channels X Y"]) -> Statistics:
    """Mean and standard deviation of each channel, on the scale 0 to 1."""
    count = torch.zeros(images.shape[1], 256, dtype=torch.int64)
    for channel in range(images.shape[1]):
        count[channel] = torch.bincount(images[:, channel].flatten(), minlength=256)
    share = count.double() / count.sum(1, keepdim=True)
    value = torch.arange(256).double() / 255
    mean = share @ value
    std = (share * (value - mean[:, None]).square()).sum(1).sqrt()
    return tuple(round(v, 6) for v in mean.tolist()), tuple(round(max(v, 1e-3), 6) for v in std.tolist())
