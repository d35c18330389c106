"""Image to tokens: cut the image into patches, make each a vector of the model's width.

`conv` and `unfold` are the same linear map of a patch written two ways (equal when the weights are reshaped into each
other); `stem` lets a few strided convolutions look first; `overlap` lets neighbouring patches share pixels. A tower of
convolutions that pool is in `tower.py`.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Annotated, Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.parts.part import Part

Pair = tuple[int, int]
Tokens = tuple[Float[Tensor, "B L D"], Pair]


class Patch(Part, slot=True):
    """How an image becomes a grid of tokens."""

    @abstractmethod
    def grid(self, image: Pair) -> Pair:
        """Rows and columns of tokens for an image of this height and width, or a UserError with the sizes that fit."""

    @abstractmethod
    def build(self, channels: int, width: int) -> nn.Module:
        """A module from (B, channels, X, Y) to ((B, L, width), (R, C))."""


def as_pair(size: int | Pair) -> Pair:
    """A size given as one number is square."""
    return (size, size) if isinstance(size, int) else size


def divide(image: Pair, patch: Pair) -> Pair:
    """The grid of non-overlapping patches, or a UserError that names the sizes that would divide."""
    if min(patch) < 1:
        raise UserError(f"a patch of {patch[0]}x{patch[1]} has no pixels")
    if all(side % step == 0 for side, step in zip(image, patch, strict=True)):
        return image[0] // patch[0], image[1] // patch[1]
    fitting = [step for step in range(1, min(image) + 1) if image[0] % step == 0 and image[1] % step == 0]
    below, above = (
        "x".join(
            str(max(1, (side + more * (step - 1)) // step) * step) for side, step in zip(image, patch, strict=True)
        )
        for more in (0, 1)
    )
    images = " or ".join(dict.fromkeys([below, above]))
    raise UserError(
        f"patches of {patch[0]}x{patch[1]} do not divide an image of {image[0]}x{image[1]}; "
        f"take a patch of {', '.join(map(str, fitting))}, or an image of {images}"
    )


def flatten(maps: Tensor) -> Tokens:
    """Maps as tokens, row by row, with their grid."""
    return maps.flatten(2).transpose(1, 2), (maps.shape[2], maps.shape[3])


class Conv(Patch):
    """A convolution whose kernel and stride are the patch (ViT, eq. 1: x_p E)."""

    kind: Literal["conv"] = "conv"
    size: int | Pair = 16

    def grid(self, image: Pair) -> Pair:
        return divide(image, as_pair(self.size))

    def build(self, channels: int, width: int) -> nn.Module:
        return _ConvPatch(channels, width, as_pair(self.size))


class _ConvPatch(nn.Module):
    def __init__(self, channels: int, width: int, size: Pair) -> None:
        super().__init__()
        self.size = size
        self.proj = nn.Conv2d(channels, width, size, stride=size)

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Tokens:
        divide((images.shape[2], images.shape[3]), self.size)
        return flatten(self.proj(images))


class Unfold(Patch):
    """Each patch flattened (channel, row, column), then one linear layer; `conv` with its weight flattened."""

    kind: Literal["unfold"] = "unfold"
    size: int | Pair = 16

    def grid(self, image: Pair) -> Pair:
        return divide(image, as_pair(self.size))

    def build(self, channels: int, width: int) -> nn.Module:
        return _UnfoldPatch(channels, width, as_pair(self.size))


class _UnfoldPatch(nn.Module):
    def __init__(self, channels: int, width: int, size: Pair) -> None:
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size[0] * size[1], width)

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Tokens:
        rows, columns = divide((images.shape[2], images.shape[3]), self.size)
        cut = images.unflatten(3, (columns, self.size[1])).unflatten(2, (rows, self.size[0]))  # B c R p C q
        return self.proj(cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)), (rows, columns)


class Stem(Patch):
    """Stride-2 3x3 convolutions, each but the last with batch norm and ReLU (Xiao et al. 2021, Early Convolutions).

    `widths` are the layers before the last, which has the model's width; three layers make patches of 8 pixels.
    """

    kind: Literal["stem"] = "stem"
    widths: tuple[Annotated[int, Field(ge=1)], ...] = (64, 128)

    def grid(self, image: Pair) -> Pair:
        return divide(image, as_pair(2 ** (len(self.widths) + 1)))

    def build(self, channels: int, width: int) -> nn.Module:
        return _StemPatch([channels, *self.widths, width])


class _StemPatch(nn.Module):
    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.size = as_pair(2 ** (len(widths) - 1))
        layers: list[nn.Module] = []
        for before, after in pairwise(widths[:-1]):
            convolution = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(widths[-2], widths[-1], 3, stride=2, padding=1))

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Tokens:
        divide((images.shape[2], images.shape[3]), self.size)
        return flatten(self.layers(images))


class Overlap(Patch):
    """A convolution whose kernel is larger than its stride (PVTv2, CvT); any image size will do."""

    kind: Literal["overlap"] = "overlap"
    size: int = Field(default=7, ge=1)
    stride: int = Field(default=4, ge=1)
    padding: int | None = Field(default=None, ge=0, description="half the kernel unless given")

    def grid(self, image: Pair) -> Pair:
        rows, columns = ((side + 2 * self._padding - self.size) // self.stride + 1 for side in image)
        if min(rows, columns) < 1:
            raise UserError(f"an image of {image[0]}x{image[1]} is smaller than a patch of {self.size}")
        return rows, columns

    def build(self, channels: int, width: int) -> nn.Module:
        return _OverlapPatch(channels, width, self.size, self.stride, self._padding)

    @property
    def _padding(self) -> int:
        return self.size // 2 if self.padding is None else self.padding


class _OverlapPatch(nn.Module):
    def __init__(self, channels: int, width: int, size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, width, size, stride=stride, padding=padding)

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Tokens:
        return flatten(self.proj(images))
