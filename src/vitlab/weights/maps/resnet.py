"""ResNets: ours have torchvision's names, which timm's have too, so that every tensor is linked with itself."""

import torch

from vitlab.models.resnet import ResNet
from vitlab.weights.maps.links import Link, one


def links(blueprint: ResNet) -> list[Link]:
    """Every tensor, weights and running averages."""
    with torch.device("meta"):
        return [one(name, name) for name in blueprint.build().state_dict()]


def is_resnet(names: set[str]) -> bool:
    """Whether tensors of these names are a ResNet of torchvision's or timm's."""
    return {"conv1.weight", "layer1.0.conv1.weight", "layer4.0.conv1.weight", "bn1.running_mean"} <= names
