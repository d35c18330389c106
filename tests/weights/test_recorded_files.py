"""What timm and torchvision computed from files, against ours from the same files; and the files out again to the bit.

`record_files.py` (in tests/parity) wrote the recordings in an environment of its own; the slow test records anew.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

import vitlab
from tests.parity.drawn import fill, pixels, value
from tests.parity.environment import HERE, recorded_again
from tests.parity.test_timm import distance
from vitlab.weights.foreign import CONFIG
from vitlab.weights.libraries import flax, timm, torchvision
from vitlab.weights.maps.links import to_theirs
from vitlab.weights.reading.open_file import open_file

RECORDED = HERE / "recorded_files"
NAMES = sorted(path.stem for path in RECORDED.glob("*.safetensors"))
LIBRARIES = {"timm": timm, "torchvision": torchvision, "flax": flax}


class Recording(NamedTuple):
    """One file of `record_files.py`."""

    made: dict[str, Tensor]
    state: dict[str, Tensor]
    told: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Recording":
        with safe_open(path, framework="pt") as file:
            told = json.loads(file.metadata()["recorded"])
        state = {name: value(name, tuple(shape)) for name, shape in told["shapes"].items()}
        return cls(load_file(path), state, told)

    def write(self, name: str, folder: Path) -> Path:
        """The file as its library would have it."""
        if name.startswith("flax"):
            np.savez(folder / "x.npz", **{key: tensor.numpy() for key, tensor in self.state.items()})
            return folder / "x.npz"
        save_file(self.state, folder / "model.safetensors")
        if name.startswith("timm"):
            (folder / CONFIG).write_text(json.dumps(self.told["config"]))
            return folder
        return folder / "model.safetensors"

    def like(self, name: str) -> Any:
        """What a bare file is a model of."""
        if not name.startswith("torchvision"):
            return None
        sizes = self.told["arguments"]
        return vitlab.blueprint("vit_base_patch16_224").change(
            width=sizes["hidden_dim"], block__attention__heads=sizes["num_heads"]
        )


def recorded(prefix: str) -> list[str]:
    return [name for name in NAMES if name.startswith(prefix)]


@pytest.mark.parametrize("name", recorded("torchvision") + recorded("timm") + recorded("flax"))
def test_the_same_logits(name: str, tmp_path: Path) -> None:
    recording = Recording.read(RECORDED / f"{name}.safetensors")
    path = recording.write(name, tmp_path)
    bundle = vitlab.load(path, model=recording.like(name), say=lambda _: None)
    with torch.no_grad():
        assert distance(bundle.model(pixels(recording.told["images"])), recording.made["logits"]) < 1e-5
    assert recording.made["logits"].std() > 0.1


@pytest.mark.parametrize("name", recorded("torchvision") + recorded("timm") + recorded("flax"))
def test_out_again_to_the_bit(name: str, tmp_path: Path) -> None:
    recording = Recording.read(RECORDED / f"{name}.safetensors")
    path = recording.write(name, tmp_path)
    bundle = vitlab.load(path, model=recording.like(name), say=lambda _: None)
    checkpoint = open_file(path / "model.safetensors" if path.is_dir() else path)
    links = LIBRARIES[name.split("_")[0]].describe(checkpoint, bundle.card.blueprint).links
    found = to_theirs(links, bundle.model.state_dict())
    assert found.keys() == recording.state.keys()
    assert all(torch.equal(found[key], tensor) for key, tensor in recording.state.items())


@pytest.mark.parametrize("name", recorded("timm"))
def test_what_we_write_is_what_timm_wrote(name: str, tmp_path: Path) -> None:
    recording = Recording.read(RECORDED / f"{name}.safetensors")
    (tmp_path / "their").mkdir()
    path = recording.write(name, tmp_path / "their")
    vitlab.convert(path, tmp_path / "in")
    vitlab.convert(tmp_path / "in", tmp_path / "out", to="timm")
    ours, theirs = (json.loads((folder / CONFIG).read_text()) for folder in (tmp_path / "out", path))
    assert ours["architecture"] == theirs["architecture"]
    for key in ("mean", "std", "interpolation", "input_size", "num_classes"):
        assert ours["pretrained_cfg"][key] == theirs["pretrained_cfg"].get(key, theirs.get(key))
    assert all(ours["model_args"][key] == found for key, found in theirs["model_args"].items())
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found.keys() == recording.state.keys()
    assert all(torch.equal(found[key], tensor) for key, tensor in recording.state.items())


@pytest.mark.parametrize("name", recorded("fitted"))
def test_fitted_as_by_timm(name: str, tmp_path: Path) -> None:
    recording = Recording.read(RECORDED / f"{name}.safetensors")
    save_file(recording.state, tmp_path / "x.safetensors")
    like = vitlab.blueprint("vit_tiny_patch16_224").change(width=16, depth=1, block__attention__heads=2)
    said: list[str] = []
    asked = recording.told["arguments"]
    size = asked["img_size"]
    bundle = vitlab.load(
        tmp_path / "x.safetensors",
        model=like,
        size=tuple(size) if isinstance(size, list) else size,
        patch=asked["patch_size"],
        say=said.append,
    )
    state = bundle.model.state_dict()
    assert distance(state["position.table.vectors.weight"], recording.made["positions"]) < 1e-4
    assert distance(state["patch.proj.weight"][:4], recording.made["kernels"]) < 1e-4
    with torch.no_grad():
        assert distance(bundle.model(pixels(recording.told["images"])), recording.made["logits"]) < 1e-4
    assert sum("positions: 14x14 to" in sentence for sentence in said) == 1
    assert sum("patches: 16x16 to" in sentence for sentence in said) == (asked["patch_size"] != 16)


def test_enough_architectures() -> None:
    assert len(recorded("torchvision") + recorded("timm") + recorded("flax")) >= 14  # beside 22 of timm's arguments
    assert len(recorded("fitted")) == 4


@pytest.mark.slow
def test_peers_still_compute_what_was_recorded(tmp_path: Path) -> None:
    for path, before in recorded_again("record_files.py", RECORDED, tmp_path):
        live, kept = Recording.read(path), Recording.read(before)
        assert live.told == kept.told
        assert live.made.keys() == kept.made.keys()
        assert max(distance(live.made[key], tensor) for key, tensor in kept.made.items()) < 1e-5


@pytest.mark.parametrize("layers", [18, 50])
def test_a_resnet_of_torchvisions(layers: int, tmp_path: Path) -> None:
    path = HERE / "recorded_resnets" / f"resnet{layers}.safetensors"
    made = load_file(path)
    model = vitlab.create(f"resnet{layers}", classes=10)
    fill(model)
    torch.save(model.state_dict(), tmp_path / "x.pth")
    bundle = vitlab.load(tmp_path / "x.pth", say=lambda _: None)
    assert bundle.card.blueprint == model.blueprint
    with torch.no_grad():
        assert distance(bundle.model(made["images"]), made["logits"]) < 1e-4
