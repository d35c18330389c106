"""timm and torchvision imported beside a CPU-only torch, and networks filled: for scripts run by `.venv-peers`."""

import torch
from drawn import value

try:
    import torchvision
except RuntimeError:  # its wheel finds no compiled operators beside a CPU-only torch; the models need only their names
    operators = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        operators.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

import timm

VERSIONS = {"timm": timm.__version__, "torch": torch.__version__, "torchvision": torchvision.__version__}


def fill(model):
    """Give every parameter its value."""
    model.load_state_dict({name: value(name, tensor.shape) for name, tensor in model.state_dict().items()})
    return model.eval()
