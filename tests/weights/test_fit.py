"""Weights fitted at load time to other sizes, channels, classes and pools, each change in a sentence."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import vitlab
from tests.hub import timm_state
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess
from vitlab.weights.fit import Wanted, fit
from vitlab.weights.resample import input_channels, patch_kernels


@pytest.fixture
def saved(made, tmp_path: Path) -> Path:
    made("vit_tiny_patch16_224", classes=("cat", "dog", "owl")).save(tmp_path / "bundle")
    return tmp_path / "bundle"


def _load(path: Path, **options) -> tuple[Bundle, list[str]]:
    said: list[str] = []
    return vitlab.load(path, say=said.append, **options), said


def test_nothing_asked_for_changes_nothing(saved: Path) -> None:
    bundle, said = _load(saved, size=32, patch=8, channels=3, classes=3, pool="cls")
    assert said == []
    plain = vitlab.load(saved)
    assert bundle.card == plain.card
    assert all(
        torch.equal(one, other) for one, other in zip(bundle.model.parameters(), plain.model.parameters(), strict=True)
    )


@pytest.mark.parametrize("size", [48, (16, 64), (40, 24), 8])
def test_baked_in_equals_on_the_fly(saved: Path, size) -> None:
    bundle, said = _load(saved, size=size)
    shape = bundle.card.blueprint.image
    images = torch.randn(2, 3, *shape)
    with torch.no_grad():
        torch.testing.assert_close(bundle.model(images), vitlab.load(saved).model(images), rtol=0, atol=1e-6)
    assert bundle.card.preprocess.size == shape
    assert said == [f"positions: 4x4 to {shape[0] // 8}x{shape[1] // 8} patches, resampled (bicubic)"]


@pytest.mark.parametrize("kind", ["factorised", "sincos"])
def test_positions_of_other_kinds(made, tmp_path: Path, kind: str) -> None:
    made("vit_tiny_patch16_224", classes=("a", "b"), position=kind).save(tmp_path / "b")
    bundle, said = _load(tmp_path / "b", size=(48, 24))
    images = torch.randn(2, 3, 48, 24)
    with torch.no_grad():
        torch.testing.assert_close(bundle.model(images), vitlab.load(tmp_path / "b").model(images), rtol=0, atol=1e-5)
    assert len(said) == (2 if kind == "factorised" else 0)


def test_kernels_see_in_a_larger_patch_what_they_saw() -> None:
    """The definition of PI-resize: <x, w> is <B x, w'> for every patch x, when patches grow."""
    kernels, patches = torch.randn(6, 3, 8, 8), torch.randn(40, 3, 8, 8)
    larger = patch_kernels(kernels, (16, 12))
    resized = torch.nn.functional.interpolate(patches, size=(16, 12), mode="bicubic", antialias=True)
    seen, wanted = torch.einsum("bcij,dcij->bd", resized, larger), torch.einsum("bcij,dcij->bd", patches, kernels)
    torch.testing.assert_close(seen, wanted, rtol=0, atol=1e-4)


def test_patches_of_another_size(saved: Path) -> None:
    bundle, said = _load(saved, patch=4)
    assert said == [
        "patches: 8x8 to 4x4 pixels, kernels resampled by pseudo-inverse",
        "positions: 4x4 to 8x8 patches, resampled (bicubic)",
    ]
    assert bundle.model(torch.zeros(1, 3, 32, 32)).shape == (1, 3)


@pytest.mark.parametrize("channels", [1, 4, 12])
def test_channels(saved: Path, channels: int) -> None:
    """The same picture in every channel is seen as it was."""
    bundle, said = _load(saved, channels=channels)
    grey = torch.randn(2, 1, 32, 32)
    plain = vitlab.load(saved)
    with torch.no_grad():
        one, other = (
            plain.model.patch(grey.expand(-1, 3, -1, -1))[0],
            bundle.model.patch(grey.expand(-1, channels, -1, -1))[0],
        )
    if channels % 3 == 0 or channels == 1:
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert bundle.card.preprocess.channels == len(bundle.card.preprocess.mean) == channels
    assert said == [
        f"channels: 3 to {channels}, kernels {'summed up' if channels == 1 else 'taken by turns and scaled'}; "
        "means and deviations follow"
    ]
    if channels == 12:
        assert bundle.card.preprocess.mean == (0.4, 0.5, 0.6) * 4
    if channels == 1:
        assert bundle.card.preprocess.mean == pytest.approx((0.5,))


def test_channels_by_turns() -> None:
    kernels = torch.randn(2, 3, 1, 1)
    found = input_channels(kernels, 5)
    torch.testing.assert_close(found, kernels[:, [0, 1, 2, 0, 1]] * 0.6)


def test_classes_known_by_name_keep_their_rows(saved: Path) -> None:
    plain = vitlab.load(saved)
    bundle, said = _load(saved, classes=["owl", "ant", "cat", "bee"])
    assert bundle.classes == ("owl", "ant", "cat", "bee")
    assert torch.equal(bundle.model.head.weight[0], plain.model.head.weight[2])
    assert torch.equal(bundle.model.head.bias[2], plain.model.head.bias[0])
    assert said == ["classes: 3 to 4, head 2 rows kept by their names, 2 new"]
    again, _ = _load(saved, classes=["owl", "dog", "cat"])
    images = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(again.model(images), plain.model(images)[:, [2, 1, 0]])


def test_a_new_head_and_none(saved: Path) -> None:
    bundle, said = _load(saved, classes=7)
    assert bundle.classes == tuple("0123456")
    assert said == ["classes: 3 to 7, head new"]
    bare, said = _load(saved, classes=0)
    assert said == ["classes: the head of 3 left out"]
    assert bare.model(torch.zeros(1, 3, 32, 32)).shape == (1, 32)


def test_a_number_is_no_name_of_a_class(tmp_path: Path) -> None:
    """A thousand classes that a file does not name are called 0 to 999: the person's class 3 is none of them."""
    save_file(timm_state("vit_tiny_patch16_224", {"depth": 1, "classes": 6}), tmp_path / "x.safetensors")
    like = vitlab.blueprint("vit_tiny_patch16_224")
    plain = vitlab.load(tmp_path / "x.safetensors", model=like, say=lambda _: None)
    assert plain.classes == tuple("012345")
    said: list[str] = []
    found = fit(plain, Wanted(classes=["3", "cat"]), said.append)
    assert said == ["classes: 6 to 2, head new"]
    assert not torch.equal(found.model.head.weight[0], plain.model.head.weight[3])
    assert fit(plain, Wanted(classes=0), said.append).classes == ()
    assert fit(plain, Wanted(classes=list("012345")), said.append) is plain
    mine = Bundle(plain.model, plain.card.model_copy(update={"data": {"source": "digits"}}))
    assert torch.equal(
        fit(mine, Wanted(classes=["3", "cat"]), said.append).model.head.weight[0], plain.model.head.weight[3]
    )


def test_two_heads_are_fitted_both(made, tmp_path: Path) -> None:
    made("deit_tiny_distilled_patch16_224", classes=("a", "b")).save(tmp_path / "b")
    bundle, _ = _load(tmp_path / "b", classes=["b", "c", "a"])
    plain = vitlab.load(tmp_path / "b")
    for head in ("cls", "distillation"):
        assert torch.equal(getattr(bundle.model.head, head).weight[0], getattr(plain.model.head, head).weight[1])


@pytest.mark.parametrize(
    ("pool", "sentence"),
    [
        ("mean", "pool: cls to mean; the head was trained on the other, and wants training"),
        ("cls_mean", "pool: cls to cls_mean; the head begins anew"),
        ("sequence", "pool: cls to sequence; the head begins anew"),
    ],
)
def test_the_class_token_gives_way_to_a_pool(saved: Path, pool: str, sentence: str) -> None:
    bundle, said = _load(saved, pool=pool)
    assert said == [sentence]
    images = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        tokens = vitlab.load(saved).model.features(images).tokens
        torch.testing.assert_close(bundle.model.features(images).tokens, tokens)
        if pool == "mean":
            torch.testing.assert_close(bundle.model.features(images).pooled, tokens[:, 1:].mean(dim=1))


def test_a_resnet_is_fitted_too(tmp_path: Path) -> None:
    blueprint = vitlab.blueprint("resnet18_cifar_32").change(classes=3, width=8)
    preprocess = Preprocess(size=(32, 32), mean=(0.5,) * 3, std=(0.5,) * 3)
    Bundle(blueprint.build(), Card(blueprint=blueprint, preprocess=preprocess, classes=("a", "b", "c"))).save(
        tmp_path / "b"
    )
    bundle, said = _load(tmp_path / "b", channels=1, classes=["c", "d"], size=48)
    assert bundle.model(torch.zeros(1, 1, 48, 48)).shape == (1, 2)
    assert torch.equal(bundle.model.fc.weight[0], vitlab.load(tmp_path / "b").model.fc.weight[2])
    assert len(said) == 2
    torch.save(vitlab.load(tmp_path / "b").model.state_dict(), tmp_path / "x.pth")
    read, _ = _load(tmp_path / "x.pth")
    assert read.card.blueprint.change(name=blueprint.name) == blueprint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 30}, "patches of 8x8 do not divide an image of 30x30"),
        ({"pool": "cls_distillation"}, "prefix.distillation is off"),
        ({"pool": "max-ish"}, "no pool of kind"),
        ({"channels": 0}, "channels wants at least 1"),
        ({"classes": ["a", "a"]}, "a class name stands there twice"),
    ],
)
def test_what_cannot_be_fitted_is_a_sentence(saved: Path, options, sentence: str) -> None:
    with pytest.raises(vitlab.UserError, match=sentence):
        _load(saved, **options)
