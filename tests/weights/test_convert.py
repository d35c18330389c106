"""vitlab convert: being told what a source is a model of, held against shapes; where the outcome goes."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import vitlab
from tests.hub import timm_state


@pytest.fixture
def narrow(tmp_path: Path) -> Path:
    """A bare file of timm's, of a size that nobody has published: its shapes do not tell the number of heads."""
    path = tmp_path / "x.safetensors"
    save_file(timm_state("vit_tiny_patch16_224", {"width": 48, "depth": 2, "classes": 5}), path)
    return path


def test_a_bare_file_is_what_it_is_said_to_be(narrow: Path) -> None:
    with pytest.raises(vitlab.UserError, match=r"how many heads a model of width 48 .*say what it is a model of"):
        vitlab.load(narrow)
    images = torch.randn(2, 3, 224, 224)
    logits = []
    for heads in (2, 6):
        like = vitlab.blueprint("vit_tiny_patch16_224").change(width=48, depth=2, block__attention__heads=heads)
        found = vitlab.load(narrow, model=like, say=lambda _: None)
        assert found.card.blueprint.block.attention.heads == heads
        with torch.no_grad():
            logits.append(found.model(images))
    assert not torch.allclose(*logits)


@pytest.mark.parametrize("source", ["folder", "bundle", "timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k"])
def test_what_says_it_itself_is_not_told(tmp_path: Path, narrow: Path, made, monkeypatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    made("vit_tiny_patch16_224", classes=("a", "b")).save(tmp_path / "bundle")
    vitlab.convert("bundle", "folder", to="timm")
    sentence = f"^{source} says itself what it is a model of; --model is for bare files of weights, leave it out$"
    with pytest.raises(vitlab.UserError, match=sentence):
        vitlab.convert(source, "made", model="vit_small_patch16_224")
    with pytest.raises(vitlab.UserError, match=sentence):
        vitlab.load(source, model="vit_small_patch16_224")
    assert not (tmp_path / "made").exists()


def test_folders_on_the_way_to_the_target_are_made(tmp_path: Path, made) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b")).save(tmp_path / "bundle")
    for to in ("bundle", "timm"):
        converted = vitlab.convert(tmp_path / "bundle", tmp_path / to / "further" / "x", to=to)
        assert vitlab.load(converted.path).classes == ("a", "b")


def test_what_a_file_cannot_be_is_refused(narrow: Path, tmp_path: Path) -> None:
    """Its width and depth are in its shapes: with the heads of another size it would answer, and wrongly."""
    with pytest.raises(vitlab.UserError, match="holds weights of width 48, not of vit_small_patch16_224 with 384"):
        vitlab.load(narrow, model="vit_small_patch16_224")
    resnet = vitlab.create("resnet18").state_dict()
    save_file({name: tensor.contiguous() for name, tensor in resnet.items()}, tmp_path / "r.safetensors")
    with pytest.raises(vitlab.UserError, match="holds a resnet18, no vit_small_patch16_224; leave --model out"):
        vitlab.load(tmp_path / "r.safetensors", model="vit_small_patch16_224")
    with pytest.raises(vitlab.UserError, match="resnet18 is no plain Vision Transformer"):
        vitlab.load(tmp_path / "r.safetensors", model="resnet18")
