"""Attention maps of our models, fused kernels on, against those of timm's and transformers' eager attention."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import ViTConfig, ViTForImageClassification

from vitlab.explain.record import recording
from vitlab.parts import kernels

from . import test_timm as timm
from . import test_transformers as transformers
from .environment import HERE, recorded_again

RECORDED = HERE / "recorded_maps"


@pytest.fixture(autouse=True)
def _fused(monkeypatch):
    """Every core computes by the kernel that never holds a map."""
    monkeypatch.setattr(kernels, "_chosen", {})
    monkeypatch.setattr(kernels, "rule", lambda *_: "fused")


def maps_of(model, images):
    with recording(model) as seen, torch.no_grad():
        model(images)
    return [layer.map for layer in seen]


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.safetensors")))
def test_same_maps_as_timm(name):
    recording_of = timm.Recording.read(timm.RECORDED / f"{name}.safetensors")
    model = timm.BLUEPRINTS[name].build().eval()
    model.load_state_dict(timm.ours(recording_of.state), strict=True)
    theirs = load_file(RECORDED / f"{name}.safetensors")
    ours = maps_of(model, recording_of.shown["images"])
    assert len(ours) == len(theirs)
    for layer, found in enumerate(ours):
        assert timm.distance(found, theirs[f"map.{layer}"]) < 1e-5


def test_maps_of_several_kinds_are_recorded():
    assert len(list(RECORDED.glob("*.safetensors"))) >= 5


@pytest.mark.parametrize("name", transformers.CONFIGURATIONS)
def test_same_maps_as_transformers(name):
    config = ViTConfig(**(transformers.SMALL | transformers.CONFIGURATIONS[name]), attn_implementation="eager")
    theirs = ViTForImageClassification(config).eval()
    for parameter in theirs.parameters():
        spread = parameter[0].numel() ** -0.5 if parameter.dim() in (2, 4) else 0.3
        parameter.data += spread * torch.randn(parameter.shape)
    model = transformers.described(config).build().eval()
    model.load_state_dict(transformers.ours(theirs.state_dict()), strict=True)
    images = torch.randn(2, config.num_channels, *model.blueprint.image)
    with torch.no_grad():
        expected = theirs(images, output_attentions=True).attentions
    found = maps_of(model, images)
    assert len(found) == len(expected) == config.num_hidden_layers
    for ours, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-5)
    assert expected[0].std() > 0.01


@pytest.mark.slow
def test_timm_still_has_the_maps_that_were_recorded(tmp_path):
    for path, before in recorded_again("record_timm_maps.py", RECORDED, tmp_path):
        live, kept = load_file(path), load_file(before)
        assert live.keys() == kept.keys()
        assert max(timm.distance(live[key], kept[key]) for key in kept) < 1e-5
