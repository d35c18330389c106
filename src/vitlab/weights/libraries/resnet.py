"""Bare files of ResNets, torchvision's or timm's: shapes tell all there is to know."""

from typing import Any

from vitlab.errors import UserError
from vitlab.models.plain import Plain
from vitlab.models.resnet import ResNet
from vitlab.parts.stem import Small, Wide
from vitlab.parts.unit import Basic, Bottleneck
from vitlab.weights.libraries.described import IMAGENET, Described, guessed
from vitlab.weights.maps.resnet import is_resnet, links
from vitlab.weights.reading.checkpoint import Checkpoint

NAME = "torchvision"


def recognise(names: set[str]) -> bool:
    return is_resnet(names)


def describe(checkpoint: Checkpoint, like: Plain | None) -> Described:
    """A bare file, which cannot be of a plain Vision Transformer."""
    found = blueprint(checkpoint)
    if like is not None:
        raise UserError(f"{checkpoint.path} holds a {found.name}, no {like.name}; leave --model out")
    preprocess = guessed(found, IMAGENET).model_copy(update={"interpolation": "bilinear"})
    return Described(NAME, checkpoint, found, links(found), preprocess)


def blueprint(checkpoint: Checkpoint) -> ResNet:
    """The units of each stage counted, the first convolution looked at."""
    shapes = checkpoint.shapes
    first = shapes["conv1.weight"]
    if len(first) != 4:
        raise UserError(f"{checkpoint.path}: conv1.weight is {list(first)}, no convolution's")
    depths = tuple(_units(checkpoint, stage) for stage in range(1, 5))
    small = first[2] == 3
    data: dict[str, Any] = {
        "name": f"resnet{sum(depths) * (3 if 'layer1.0.conv3.weight' in shapes else 2) + 2}",
        "image": 32 if small else 224,
        "channels": first[1],
        "classes": shapes["fc.weight"][0] if "fc.weight" in shapes else 0,
        "width": first[0],
        "depths": depths,
        "stem": Small() if small else Wide(),
        "unit": Bottleneck() if "layer1.0.conv3.weight" in shapes else Basic(),
    }
    return ResNet.read(data, str(checkpoint.path))


def _units(checkpoint: Checkpoint, stage: int) -> int:
    count = 0
    while f"layer{stage}.{count}.conv1.weight" in checkpoint.shapes:
        count += 1
    return count
