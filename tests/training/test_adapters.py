"""LoRA: only adapters and head learn, the model left behind has no trace of them, and a run goes on where it was."""

import importlib.util

import pytest
import torch

from tests.training.test_resume import broken_off
from tests.training.test_tuning import DIGITS, RESNET, VIT, request, saved
from vitlab.errors import UserError
from vitlab.training.adapters import adapt, merge
from vitlab.training.fit import fit
from vitlab.training.keeper import Often
from vitlab.training.resolve import resolve


def stirred(rank=3):
    """A model with adapters that have learned something."""
    torch.manual_seed(0)
    model = VIT.build().eval()
    known = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    adapt(model, rank)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model, known


def test_adapters_change_nothing_before_they_have_learned():
    torch.manual_seed(0)
    model, images = VIT.build().eval(), torch.randn(3, 1, 8, 8)
    before = model(images)
    adapt(model, 3)
    assert torch.equal(model(images), before)


def test_merged_weights_are_w_plus_scale_times_b_a_and_give_the_same_logits():
    model, known = stirred()
    images, pairs = torch.randn(5, 1, 8, 8), dict(model.named_parameters())
    apart = model(images)
    pairs = {name: parameter.detach().clone() for name, parameter in pairs.items()}
    merged = merge(model)
    torch.testing.assert_close(merged(images), apart, atol=1e-5, rtol=1e-5)
    assert list(merged.state_dict()) == list(known)
    adapted = 0
    for name, tensor in merged.state_dict().items():
        stem = name.removesuffix(".weight")
        if f"{stem}.lora_A.default.weight" in pairs:
            adapted += 1
            product = pairs[f"{stem}.lora_B.default.weight"] @ pairs[f"{stem}.lora_A.default.weight"]
            torch.testing.assert_close(tensor, known[name] + 2 * product, atol=1e-6, rtol=1e-5)
            assert not torch.allclose(tensor, known[name])
        else:
            assert torch.equal(tensor, known[name]), name
    assert adapted == 4 * VIT.depth  # qkv, proj, widen, narrow


def test_only_adapters_and_the_head_learn_and_the_bundle_is_a_plain_model(tmp_path):
    import vitlab

    begun = saved(tmp_path / "begun", VIT, classes=DIGITS[:5])
    run = vitlab.train(
        "digits", from_=tmp_path / "begun", lora=2, epochs=2, rate=0.01, out=tmp_path / "run", quiet=True,
        device="cpu", precision="float32", threads=1,
    )  # fmt: skip
    assert "adapters know nothing yet" in (tmp_path / "run" / "config.yaml").read_text()
    assert f"--from {tmp_path / 'begun'} --lora 2" in run.bundle.card.command
    tuned, before = run.bundle.model.state_dict(), begun.model.state_dict()
    assert list(tuned) == list(before)
    for name, tensor in tuned.items():
        moves = name.startswith("head.") or (
            name.startswith("blocks.") and "norm" not in name and name.endswith("weight")
        )
        assert torch.equal(tensor, before[name]) != moves, name


def test_a_run_with_adapters_goes_on_bit_for_bit(tmp_path, monkeypatch):
    saved(tmp_path / "begun", VIT)
    ready = resolve(request(tmp_path / "begun", lora=2, ema=0.9, rates="even"))
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    expected = fit(ready.plan, ready.splits, tmp_path / "whole", quiet=True).state_dict()
    with monkeypatch.context() as patch:
        broken_off(patch, 9)
        with pytest.raises(RuntimeError, match="the power is gone"):
            fit(ready.plan, ready.splits, tmp_path / "broken", quiet=True, often=Often(steps=3))
    found = fit(ready.plan, ready.splits, tmp_path / "broken", quiet=True).state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_what_cannot_be_is_one_sentence(tmp_path, monkeypatch):
    import vitlab

    with pytest.raises(UserError, match="--lora is for a trained model; name one with --from"):
        vitlab.train("digits", lora=4)
    with pytest.raises(UserError, match="leave freeze out"):
        vitlab.train("digits", from_="x", lora=4, freeze=2)
    with pytest.raises(UserError, match="--lora wants at least 1, not 0"):
        vitlab.train("digits", from_="x", lora=0)
    saved(tmp_path / "cnn", RESNET)
    with pytest.raises(UserError, match="have no linear layers for adapters"):
        resolve(request(tmp_path / "cnn", lora=4))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "peft" else find(name, *more))
    saved(tmp_path / "vit", VIT)
    with pytest.raises(UserError, match=r"pip install 'vitlab\[lora\]'"):
        resolve(request(tmp_path / "vit", lora=4))
