"""Files of timm's in and out: the logits are those that timm recorded; what goes out is what came in, to the bit."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import vitlab
from tests.parity import test_timm as timm
from vitlab.weights.libraries.timm import describe
from vitlab.weights.maps.links import to_theirs
from vitlab.weights.reading.open_file import open_file

NAMES = sorted(timm.BLUEPRINTS)


@pytest.fixture(params=NAMES)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, timm.Recording, Path]:
    recording = timm.Recording.read(timm.RECORDED / f"{request.param}.safetensors")
    save_file(recording.state, tmp_path / "their.safetensors")
    return request.param, recording, tmp_path / "their.safetensors"


def test_the_logits_are_timms(recorded: tuple[str, timm.Recording, Path]) -> None:
    name, recording, path = recorded
    bundle = vitlab.load(path, model=timm.BLUEPRINTS[name], say=lambda _: None)
    with torch.no_grad():
        assert timm.distance(bundle.model(recording.shown["images"]), recording.shown["logits"]) < 1e-5
    assert bundle.card.blueprint == timm.BLUEPRINTS[name]


def test_out_again_is_what_came_in(recorded: tuple[str, timm.Recording, Path]) -> None:
    name, recording, path = recorded
    bundle = vitlab.load(path, model=timm.BLUEPRINTS[name], say=lambda _: None)
    found = to_theirs(describe(open_file(path), timm.BLUEPRINTS[name]).links, bundle.model.state_dict())
    assert found.keys() == recording.state.keys()
    assert all(torch.equal(found[key], value) for key, value in recording.state.items())


def test_a_torch_file_is_the_same(tmp_path: Path) -> None:
    """As DeiT and MAE publish theirs: under `model`, with the arguments of the training beside."""
    import argparse

    recording = timm.Recording.read(timm.RECORDED / "layer_scale.safetensors")
    blueprint = timm.BLUEPRINTS["layer_scale"]
    for new in (True, False):
        given = {"model": recording.state, "args": argparse.Namespace(lr=0.1), "epoch": 3}
        torch.save(given, tmp_path / "x.pth", _use_new_zipfile_serialization=new)
        bundle = vitlab.load(tmp_path / "x.pth", model=blueprint, say=lambda _: None)
        with torch.no_grad():
            assert timm.distance(bundle.model(recording.shown["images"]), recording.shown["logits"]) < 1e-5


def test_wrapped_names_are_unwrapped(tmp_path: Path) -> None:
    recording = timm.Recording.read(timm.RECORDED / "patch8.safetensors")
    save_file({f"module._orig_mod.{key}": value for key, value in recording.state.items()}, tmp_path / "x.safetensors")
    bundle = vitlab.load(tmp_path / "x.safetensors", model=timm.BLUEPRINTS["patch8"], say=lambda _: None)
    assert torch.equal(bundle.model.patch.proj.bias, recording.state["patch_embed.proj.bias"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.pop("norm.bias"), "lacks norm.bias for custom, by timm's names"),
        (lambda s: s.update({"head.more": torch.ones(2)}), "has head.more too many for custom, by timm's names"),
        (
            lambda s: (s.pop("blocks.0.mlp.fc2.bias"), s.update(a=torch.ones(1), b=torch.ones(1))),
            "lacks blocks.0.mlp.fc2.bias and has a, b too many for custom",
        ),
        (
            lambda s: s.update({"blocks.1.norm1.weight": torch.ones(3)}),
            r"blocks.1.norm1.weight is \[3\], custom wants \[192\]",
        ),
    ],
)
def test_every_key_is_accounted_for(tmp_path: Path, change, sentence: str) -> None:
    with torch.device("cpu"):
        blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(name="custom", classes=3)
    state = to_theirs(_links(blueprint), blueprint.build().state_dict())
    change(state)
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "x.safetensors")
    with pytest.raises(vitlab.UserError, match=sentence):
        vitlab.load(tmp_path / "x.safetensors", say=lambda _: None)


def _links(blueprint):
    from vitlab.weights.maps import vit
    from vitlab.weights.maps.timm import TIMM

    return vit.links(blueprint, TIMM)


def test_what_shapes_do_not_tell_is_asked_for(tmp_path: Path) -> None:
    recording = timm.Recording.read(timm.RECORDED / "patch8.safetensors")
    save_file(recording.state, tmp_path / "x.safetensors")
    with pytest.raises(
        vitlab.UserError, match=r"weights do not tell how many heads .* width 16 and depth 3 has; say what"
    ):
        vitlab.load(tmp_path / "x.safetensors")


def test_a_bare_file_of_a_known_size_needs_no_more(tmp_path: Path) -> None:
    blueprint = vitlab.blueprint("deit_tiny_distilled_patch16_224").change(classes=4)
    state = to_theirs(_links(blueprint), blueprint.build().state_dict())
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "x.safetensors")
    said: list[str] = []
    bundle = vitlab.load(tmp_path / "x.safetensors", say=said.append)
    assert bundle.card.blueprint.change(name=blueprint.name, pool=blueprint.pool) == blueprint
    assert bundle.classes == ("0", "1", "2", "3")
    assert len(said) == 2
    assert "does not name its 4 classes" in " ".join(said)


def test_a_model_made_with_weights(tmp_path: Path) -> None:
    blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(classes=4)
    state = to_theirs(_links(blueprint), blueprint.build().state_dict())
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "x.safetensors")
    said: list[str] = []
    model = vitlab.create(
        "vit_tiny_patch16_224", weights=tmp_path / "x.safetensors", size=96, channels=1, classes=7, say=said.append
    )
    assert model(torch.zeros(1, 1, 96, 96)).shape == (1, 7)
    told = "\n".join(said)
    assert "channels: 3 to 1" in told
    assert "positions: 14x14 to 6x6" in told
    assert "classes: 4 to 7" in told
    assert torch.equal(model.blocks[3].mlp.widen.weight, state["blocks.3.mlp.fc1.weight"])
    with pytest.raises(vitlab.UserError, match=r"weights do not tell|not of|wants"):
        vitlab.create("vit_small_patch16_224", weights=tmp_path / "x.safetensors", say=said.append)
