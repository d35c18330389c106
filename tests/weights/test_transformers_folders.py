"""Folders of transformers in and out, beside the library itself: the same logits, predictions and bits."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoImageProcessor,
    AutoModelForImageClassification,
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    Dinov2Config,
    Dinov2ForImageClassification,
    Dinov2Model,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersForImageClassification,
    Dinov2WithRegistersModel,
    ViTConfig,
    ViTForImageClassification,
    ViTMAEConfig,
    ViTMAEForPreTraining,
    ViTModel,
)

import vitlab
from tests.weights.conftest import pictures, same_weights, stir

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32,
    "patch_size": 8, "id2label": {i: f"class {i}" for i in range(5)}, "label2id": {f"class {i}": i for i in range(5)},
}  # fmt: skip
CASES = {
    "vit": (ViTConfig, ViTForImageClassification, {}),
    "vit, oblong": (ViTConfig, ViTForImageClassification, {"image_size": [16, 32], "patch_size": 4}),
    "vit, no qkv bias": (ViTConfig, ViTForImageClassification, {"qkv_bias": False, "layer_norm_eps": 0.1}),
    "vit, tanh": (ViTConfig, ViTForImageClassification, {"hidden_act": "gelu_pytorch_tanh", "num_hidden_layers": 3}),
    "vit, bare": (ViTConfig, ViTModel, {}),
    "deit": (DeiTConfig, DeiTForImageClassification, {}),
    "deit, distilled": (DeiTConfig, DeiTForImageClassificationWithTeacher, {}),
    "dinov2": (Dinov2Config, Dinov2ForImageClassification, {"layerscale_value": 0.5}),
    "dinov2, bare": (Dinov2Config, Dinov2Model, {"mlp_ratio": 2}),
    "registers": (Dinov2WithRegistersConfig, Dinov2WithRegistersForImageClassification, {}),
    "registers, bare": (Dinov2WithRegistersConfig, Dinov2WithRegistersModel, {"num_register_tokens": 2}),
    "mae": (
        ViTMAEConfig,
        ViTMAEForPreTraining,
        {
            "decoder_hidden_size": 16,
            "decoder_num_attention_heads": 2,
            "decoder_num_hidden_layers": 1,
            "mask_ratio": 0.0,
        },
    ),
}


def _theirs(name: str):
    config, kind, changes = CASES[name]
    return stir(kind(config(**(SMALL | changes))))


def _expected(name: str, model, images: torch.Tensor) -> torch.Tensor:
    """Logits; of an encoder, the class token after the last norm."""
    if "bare" in name:
        return model(images).last_hidden_state[:, 0]
    if name == "mae":
        order = torch.arange(16.0).expand(len(images), 16)  # the noise whose order shuffles nothing
        return model.vit(images, noise=order).last_hidden_state[:, 0]
    return model(images).logits


@pytest.mark.parametrize("name", CASES)
def test_the_same_logits(name: str, tmp_path: Path) -> None:
    theirs = _theirs(name)
    theirs.save_pretrained(tmp_path / "their")
    said: list[str] = []
    bundle = vitlab.load(tmp_path / "their", say=said.append)
    size = bundle.card.blueprint.image
    images = torch.randn(3, 3, *size)
    with torch.no_grad():
        expected = _expected(name, theirs, images)
        torch.testing.assert_close(bundle.model(images), expected, rtol=0, atol=1e-5)
    assert expected.std() > 0.1
    assert bundle.classes == (() if "bare" in name or name == "mae" else tuple(f"class {i}" for i in range(5)))
    told = " ".join(said)
    assert ("the pooler" in told) == (name == "vit, bare")
    assert ("the decoder" in told) == (name == "mae")


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("mae", "vit, bare")])
def test_out_and_in_again_to_the_bit(name: str, tmp_path: Path) -> None:
    theirs = _theirs(name)
    theirs.save_pretrained(tmp_path / "their")
    vitlab.convert(tmp_path / "their", tmp_path / "in")
    vitlab.convert(tmp_path / "in", tmp_path / "out", to="transformers")
    (tmp_path / "out" / "vitlab.json").unlink()
    vitlab.convert(tmp_path / "out", tmp_path / "again")
    assert same_weights(tmp_path / "in", tmp_path / "again")
    ours, wanted = (
        load_file(tmp_path / "out" / "model.safetensors"),
        load_file(tmp_path / "their" / "model.safetensors"),
    )
    wanted = {key: value for key, value in wanted.items() if "mask_token" not in key}
    assert ours.keys() == wanted.keys()
    if not name.startswith("registers"):  # there the class token's position has become part of the token
        assert all(torch.equal(ours[key], value) for key, value in wanted.items())
    opened = type(theirs).from_pretrained(tmp_path / "out").eval()
    images = torch.randn(2, 3, *vitlab.load(tmp_path / "in").card.blueprint.image)
    with torch.no_grad():
        torch.testing.assert_close(_expected(name, opened, images), _expected(name, theirs, images), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "changes", "crop", "shape"),
    [
        ("vit_tiny_patch16_224", {}, 1.0, "stretch"),
        ("vit_tiny_patch16_224", {}, 32 / 36, "keep"),
        ("deit_tiny_distilled_patch16_224", {}, 32 / 36, "stretch"),
        ("vit_small_patch14_dinov2", {"pool": "cls_mean"}, 1.0, "keep"),
        ("vit_small_patch14_reg4_dinov2", {"pool": "cls_mean"}, 32 / 40, "keep"),
    ],
)
def test_its_own_loader_and_processor_predict_the_same(made, tmp_path: Path, model, changes, crop, shape) -> None:
    """End to end: our folder opened by its Auto classes, real images prepared by its processor."""
    bundle = made(model, crop=crop, shape=shape, classes=("zero", "b", "owl", "old cat"), **changes)
    bundle.save(tmp_path / "bundle")
    vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="transformers")
    theirs = AutoModelForImageClassification.from_pretrained(tmp_path / "out").eval()
    processor = AutoImageProcessor.from_pretrained(tmp_path / "out", backend="pil")
    assert tuple(theirs.config.id2label[i] for i in range(4)) == bundle.classes
    for picture, ours in zip(pictures(), bundle.predict(pictures()), strict=True):
        with torch.no_grad():
            shares = theirs(**processor(picture, return_tensors="pt")).logits.softmax(dim=1)[0]
        label = theirs.config.id2label[int(shares.argmax())]
        assert label == ours.label
        wanted = np.array([ours.probabilities[name] for name in bundle.classes])
        oblong = picture.width != picture.height and shape == "keep"  # there it rounds the longer side to whole pixels
        np.testing.assert_allclose(shares, wanted, atol=0.05 if oblong else 1e-4)


def test_nothing_is_lost_on_the_way_there_and_back(made, tmp_path: Path) -> None:
    bundle = made("vit_tiny_patch16_224", classes=("a", "b"), crop=0.9)
    bundle.save(tmp_path / "bundle")
    for to in ("transformers", "timm"):
        vitlab.convert(tmp_path / "bundle", tmp_path / to, to=to)
        back = vitlab.load(tmp_path / to)
        assert back.card.model_copy(update={"command": "", "created": "", "versions": {}}) == bundle.card


def test_a_folder_that_was_changed_speaks_for_itself(made, tmp_path: Path) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b")).save(tmp_path / "bundle")
    vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="transformers")
    theirs = ViTForImageClassification.from_pretrained(tmp_path / "out")
    theirs.config.id2label = {0: "x", 1: "y"}
    theirs.save_pretrained(tmp_path / "out")
    assert vitlab.load(tmp_path / "out").classes == ("x", "y")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pool": "mean"}, r"transformers has no words for .*: pool.kind cannot be said there; take --to bundle"),
        ({"position": "sincos"}, "no words for"),
        (
            {"block__attention__core": {"kind": "window", "size": 2}, "prefix": {"cls": False}, "pool": "mean"},
            "no words",
        ),
        ({"image": (16, 32)}, "cannot cut an oblong out of the middle"),
    ],
)
def test_what_cannot_be_said_there_is_refused(made, tmp_path: Path, changes, sentence: str) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b"), **changes).save(tmp_path / "bundle")
    with pytest.raises(vitlab.UserError, match=sentence):
        vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="transformers")
    assert not (tmp_path / "out").exists()


def test_a_state_dict_saved_from_memory(tmp_path: Path) -> None:
    """In memory its newer versions have other names than on disk."""
    for name in ("vit", "dinov2"):
        theirs = _theirs(name)
        torch.save(theirs.state_dict(), tmp_path / "x.bin")
        theirs.save_pretrained(tmp_path / name)
        like = vitlab.load(tmp_path / name).card.blueprint
        bundle = vitlab.load(tmp_path / "x.bin", model=like, say=lambda _: None)
        images = torch.randn(1, 3, 32, 32)
        with torch.no_grad():
            torch.testing.assert_close(bundle.model(images), theirs(images).logits, rtol=0, atol=1e-5)


def test_dinov2_is_fitted_to_the_images_its_processor_makes(tmp_path: Path) -> None:
    """Its positions are of larger images than it is shown; resampled once here, on the fly there: the same."""
    theirs = stir(Dinov2ForImageClassification(Dinov2Config(**(SMALL | {"image_size": 56}))))
    theirs.save_pretrained(tmp_path / "x")
    processor = {
        "image_processor_type": "BitImageProcessor", "do_center_crop": True, "resample": 3,
        "size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 32},
    }  # fmt: skip
    (tmp_path / "x" / "preprocessor_config.json").write_text(json.dumps(processor))
    said: list[str] = []
    bundle = vitlab.load(tmp_path / "x", say=said.append)
    assert bundle.card.blueprint.image == (32, 32)
    assert any("positions: 7x7 to 4x4 patches" in sentence for sentence in said)
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(bundle.model(images), theirs(images).logits, rtol=0, atol=1e-5)
