"""Our ResNets against torchvision's: the same names and shapes, the same weights and images in, the same logits out.

`recorded_resnets/` holds what torchvision computed, written by `record_torchvision.py` in an environment of its own.
The `slow` test records again and compares that too.
"""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from vitlab.models.registry import blueprint

from .drawn import fill, pixels
from .environment import HERE, recorded_again

RECORDED = HERE / "recorded_resnets"
TOLERANCE = 1e-5  # of the largest number of its kind
NAMES = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")


def about(path):
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["recorded"])


def differences(name, path):
    """The largest difference of the logits and of each stage, relative to the largest number there."""
    recorded = load_file(path)
    assert torch.equal(recorded["images"], pixels(recorded["images"].shape))
    model = blueprint(name).change(classes=10, image=tuple(recorded["images"].shape[2:])).build().eval()
    fill(model)
    with torch.no_grad():
        stages = [each.mean(dim=(2, 3)) for each in model.scales(recorded["images"])]
        found = {"logits": model(recorded["images"])} | {f"stage{i}": each for i, each in enumerate(stages)}
    return {
        what: float((ours - recorded[what]).abs().max() / recorded[what].abs().max()) for what, ours in found.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_weights_have_torchvisions_names_and_shapes_in_its_order(name):
    with torch.device("meta"):
        ours = blueprint(name).change(classes=10).build().state_dict()
    theirs = about(RECORDED / f"{name}.safetensors")["shapes"]
    assert [(key, list(tensor.shape)) for key, tensor in ours.items()] == list(theirs.items())


@pytest.mark.parametrize("name", NAMES)
def test_same_numbers_as_torchvision(name):
    found = differences(name, RECORDED / f"{name}.safetensors")
    assert len(found) == 5
    assert max(found.values()) < TOLERANCE, found


@pytest.mark.slow
def test_torchvision_still_computes_what_was_recorded(tmp_path):
    for path, before in recorded_again("record_torchvision.py", RECORDED, tmp_path):
        assert about(path)["shapes"] == about(before)["shapes"]
        assert max(differences(path.stem, path).values()) < TOLERANCE
