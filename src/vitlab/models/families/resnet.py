"""ResNet (He et al. 2016, Deep Residual Learning for Image Recognition), as torchvision has it; 200 is timm's.

`resnet18_cifar_32` and its like keep a small image as large as it is, with a stem that does not shrink it.
"""

from functools import partial

from vitlab.models.registry import register
from vitlab.models.resnet import ResNet
from vitlab.parts.stem import Small
from vitlab.parts.unit import Basic, Bottleneck, Unit

_DEPTHS: dict[int, tuple[Unit, tuple[int, int, int, int]]] = {
    18: (Basic(), (2, 2, 2, 2)),
    34: (Basic(), (3, 4, 6, 3)),
    50: (Bottleneck(), (3, 4, 6, 3)),
    101: (Bottleneck(), (3, 4, 23, 3)),
    152: (Bottleneck(), (3, 8, 36, 3)),
    200: (Bottleneck(), (3, 24, 36, 3)),
}


def resnet(layers: int) -> ResNet:
    """ResNet with so many layers that have weights, for 224 pixels and 1000 classes."""
    unit, depths = _DEPTHS[layers]
    return ResNet(depths=depths, unit=unit)


def resnet_cifar(layers: int) -> ResNet:
    """The same for ten classes of images of 32 pixels."""
    return resnet(layers).change(image=32, classes=10, stem=Small())


for _layers in _DEPTHS:
    register(f"resnet{_layers}", partial(resnet, _layers))
for _layers in (18, 34, 50):
    register(f"resnet{_layers}_cifar_32", partial(resnet_cifar, _layers))
