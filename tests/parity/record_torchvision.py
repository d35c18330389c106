"""Record what torchvision's ResNets compute: `.venv-peers/bin/python tests/parity/record_torchvision.py OUT_DIR`.

It runs in the environment that `make peers` makes and must not import vitlab. Networks of this family have one width,
too many weights to keep: both sides draw them with `drawn.py`, name by name, and a file holds the names with their
shapes, a batch of images, the means of each stage's map and the logits.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent))
from drawn import fill, pixels

try:
    import torchvision
except RuntimeError:  # its wheel finds no compiled operators beside a CPU-only torch; the models need only their names
    operators = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        operators.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

from torchvision.models import resnet

VERSIONS = {"torch": torch.__version__, "torchvision": torchvision.__version__}
SIZES = {18: (64, 64), 34: (48, 96), 50: (64, 64), 101: (64, 40), 152: (64, 64)}  # also sides that do not halve evenly


def record(layers, size):
    """Everything a comparison needs of one network."""
    model = getattr(resnet, f"resnet{layers}")(weights=None, num_classes=10).eval()
    fill(model)
    images = pixels((2, 3, *size))
    tensors, stages = {"images": images}, []
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        stage.register_forward_hook(lambda stage, inputs, output: stages.append(output))
    with torch.no_grad():
        tensors["logits"] = model(images)
    tensors |= {f"stage{i}": found.mean(dim=(2, 3)) for i, found in enumerate(stages)}
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    return tensors, shapes


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for layers, size in SIZES.items():
        tensors, shapes = record(layers, size)
        about = json.dumps({"layers": layers, "shapes": shapes} | VERSIONS)
        kept = {key: value.contiguous() for key, value in tensors.items()}
        save_file(kept, folder / f"resnet{layers}.safetensors", metadata={"recorded": about})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
