"""Folders that we write, opened by timm itself: its own preprocessing on real images, and the same predictions."""

import json
from pathlib import Path

import numpy as np
import pytest

import vitlab
from tests.parity.environment import in_peers
from tests.weights.conftest import pictures
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess
from vitlab.weights.libraries import timm

CASES = {
    "vit": ("vit_tiny_patch16_224", {"crop": 32 / 36}, {}),
    "stretched": ("vit_tiny_patch16_224", {"shape": "stretch"}, {}),
    "mean": ("vit_small_patch16_224", {"crop": 32 / 36}, {"pool": "mean", "norm": None, "head": "normed"}),
    "distilled": ("deit_tiny_distilled_patch16_224", {"crop": 32 / 40}, {}),
    "deit3": ("deit3_small_patch16_224", {}, {}),
    "registers": ("vit_small_patch14_reg4_dinov2", {}, {}),
    "relu, no bias": (
        "vit_tiny_patch16_224",
        {},
        {"block__mlp__activation": "relu", "block__attention__qkv_bias": False},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, "resnet"])
def test_timm_predicts_the_same(made, tmp_path: Path, name: str) -> None:
    if name == "resnet":
        blueprint = vitlab.blueprint("resnet18").change(classes=4, image=64)
        preprocess = Preprocess(size=(64, 64), mean=(0.5,) * 3, std=(0.5,) * 3, crop=64 / 72, interpolation="bilinear")
        bundle = Bundle(
            blueprint.build().eval(), Card(blueprint=blueprint, preprocess=preprocess, classes=tuple("abcd"))
        )
    else:
        model, images, changes = CASES[name]
        bundle = made(model, classes=("zero", "b", "owl", "old cat"), **images, **changes)
    bundle.save(tmp_path / "bundle")
    vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="timm")
    files = []
    for i, picture in enumerate(pictures()):
        picture.save(tmp_path / f"{i}.png")
        files.append(str(tmp_path / f"{i}.png"))
    theirs = np.array(json.loads(in_peers("open_in_timm.py", tmp_path / "out", *files)))
    predicted = vitlab.load(tmp_path / "bundle").predict(files)
    ours = np.array([[found.probabilities[label] for label in bundle.classes] for found in predicted])
    # timm rounds the longer side of an oblong picture to whole pixels before it cuts
    square = [picture.width == picture.height or name == "stretched" for picture in pictures()]
    np.testing.assert_allclose(ours[square], theirs[square], atol=2e-3)
    np.testing.assert_allclose(ours, theirs, atol=0.06)
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1))[square].all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"position": "sincos"}, "timm has no words for vit_tiny_patch16_224: position.kind"),
        ({"pool": "sequence"}, "timm has no words for vit_tiny_patch16_224: pool.kind cannot be said there"),
        ({"block__attention__relative": "rotary"}, "no words for"),
    ],
)
def test_what_timm_has_no_words_for(made, tmp_path: Path, changes, sentence: str) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b"), **changes).save(tmp_path / "bundle")
    with pytest.raises(vitlab.UserError, match=sentence):
        vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="timm")
    assert not (tmp_path / "out").exists()


def test_another_epsilon_is_said(made, tmp_path: Path) -> None:
    norm = {"kind": "layer", "eps": 1e-12}
    made("vit_tiny_patch16_224", classes=("a", "b"), norm=norm, block__norm=norm).save(tmp_path / "bundle")
    done = vitlab.convert(tmp_path / "bundle", tmp_path / "out", to="timm")
    assert done.said == ("norms: timm's have an epsilon of 1e-06, these 1e-12; logits may differ a little",)


def test_pixels_that_are_not_whole_are_said(made, tmp_path: Path) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b"), crop=0.9).save(tmp_path / "bundle")
    for to, whole in (("timm", 35), ("transformers", 36)):
        done = vitlab.convert(tmp_path / "bundle", tmp_path / to, to=to)
        assert done.said[-1].startswith(
            f"images: {to} scales to {whole} pixels and cuts 32 out, a share of {32 / whole:.4f}"
        )


def test_the_share_cut_out_survives_whole_pixels() -> None:
    """timm scales to whole pixels: what is written is read back as what its transform does."""
    blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(classes=2)
    for larger in range(224, 320):
        given = Preprocess(size=(224, 224), mean=(0.5,) * 3, std=(0.5,) * 3, crop=224 / larger)
        assert timm._preprocess(timm._images(given), blueprint, "here").crop == given.crop
