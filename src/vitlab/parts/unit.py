"""The residual unit of a CNN: x + branch(x), then ReLU (He et al. 2016, Deep Residual Learning, figure 5).

basic                                          bottleneck
x --+-- 3x3 - bn - relu - 3x3 - bn --+-- relu  x --+-- 1x1 - bn - relu - 3x3 - bn - relu - 1x1 - bn --+-- relu
    +--------------------------------+             +--------------------------------------------------+

Where the stream changes its width or is halved, a 1x1 convolution takes it along (`downsample`). The stride stands in
the 3x3 convolution, as in torchvision. Names of the weights are torchvision's.
"""

from abc import abstractmethod
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vitlab.parts.part import Part

Map = Float[Tensor, "B channels X Y"]
Next = Float[Tensor, "B D x y"]  # wider, or smaller, or as it was


class Unit(Part, slot=True):
    """What a stage of a residual network repeats."""

    expansion: ClassVar[int]  # channels that leave, for each one in the middle

    @abstractmethod
    def build(self, channels: int, width: int, stride: int) -> nn.Module:
        """A unit from `channels` to `expansion` times `width`."""


class Basic(Unit):
    """Two 3x3 convolutions, for the shallow ones."""

    kind: Literal["basic"] = "basic"
    expansion: ClassVar[int] = 1

    def build(self, channels: int, width: int, stride: int) -> nn.Module:
        return _Basic(channels, width, stride)


class Bottleneck(Unit):
    """A 3x3 convolution between 1x1 ones, on a quarter of the channels."""

    kind: Literal["bottleneck"] = "bottleneck"
    expansion: ClassVar[int] = 4

    def build(self, channels: int, width: int, stride: int) -> nn.Module:
        return _Bottleneck(channels, width, stride)


class _Unit(nn.Module):
    downsample: nn.Sequential | None

    def _carry(self, channels: int, width: int, stride: int) -> None:
        """How x gets past the branch; called last, so that weights come in torchvision's order."""
        if stride == 1 and channels == width:
            self.downsample = None
        else:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Map) -> Next:
        past = x if self.downsample is None else self.downsample(x)
        return functional.relu(past + self._branch(x))

    @abstractmethod
    def _branch(self, x: Map) -> Next: ...


class _Basic(_Unit):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self._carry(channels, width, stride)

    def _branch(self, x: Map) -> Next:
        return self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))


class _Bottleneck(_Unit):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        last = Bottleneck.expansion * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, last, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(last)
        self._carry(channels, last, stride)

    def _branch(self, x: Map) -> Next:
        x = functional.relu(self.bn1(self.conv1(x)))
        x = functional.relu(self.bn2(self.conv2(x)))
        return self.bn3(self.conv3(x))
