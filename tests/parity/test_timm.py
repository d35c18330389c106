"""Our blueprints against timm's Vision Transformer: the same weights and images in, the same tokens and logits out.

`recorded/` holds what timm computed, written by `record_timm.py` in an environment of its own, since timm cannot live
in ours. The `slow` test records again and compares that too. The map of names is written out here, apart from the
product's, so that one cannot hide a mistake of the other.
"""

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from vitlab.models.blueprint import Blueprint
from vitlab.models.registry import blueprint
from vitlab.parts.position import resample

from .environment import HERE, recorded_again

RECORDED = HERE / "recorded"
TOLERANCE = 1e-5  # absolute, in float32, on numbers of size one; timm itself differs by 3e-6 between kinds of CPU


def miniature(
    name: str = "vit_tiny_patch16_224", *, image=16, patch=4, width=16, depth=2, heads=2, **changes
) -> Blueprint:
    """A published model made small, with what makes it a variant."""
    sizes = {"image": image, "patch__size": patch, "width": width, "depth": depth, "block__attention__heads": heads}
    return blueprint(name).change(**({"classes": 10} | sizes | changes))


BLUEPRINTS = {
    "patch8": miniature("vit_cifar_patch8_32", image=24, patch=8, depth=3),
    "patch16": miniature("vit_base_patch16_224", image=48, patch=16),
    "patch32": miniature("vit_base_patch32_224", image=64, patch=32, channels=1),
    "wide": miniature("vit_small_patch16_224", width=64, heads=4, block__mlp__ratio=1.5),
    "one_channel": miniature("vit_mnist_patch7_28", image=28, patch=7),
    "oblong_image": miniature(image=(32, 48), patch=8),
    "oblong_patch": miniature(image=(24, 32), patch=(4, 16)),
    "mean": miniature(pool="mean", norm=None, head="normed"),
    "mean_of_normed": miniature(pool="mean"),
    "max": miniature(pool="max", norm=None, head="normed"),
    "no_class_token": miniature(prefix={"cls": False}, pool="mean", norm=None, head="normed"),
    "no_head": miniature(classes=0),
    "registers": miniature(prefix__registers=4, position__prefix=False),
    "registers_with_positions": miniature(prefix__registers=4),
    "no_positions": miniature(position="none"),
    "no_qkv_bias": miniature(block__attention__qkv_bias=False),
    "layer_scale": miniature(block__residual="scale"),
    "gelu_tanh": miniature(block__mlp__activation="gelu_tanh"),
    "faint": miniature(),
    "faint_mean": miniature(pool="mean", norm=None, head="normed"),
    "other_size": miniature(),
    "other_size_registers": miniature(prefix__registers=4, position__prefix=False),
}

NAMES = {  # timm's to ours, wherever they stand in a name
    "patch_embed.": "patch.",
    ".attn.": ".attention.",
    ".mlp.fc1.": ".mlp.widen.",
    ".mlp.fc2.": ".mlp.narrow.",
    ".ls1.": ".residual1.",
    ".ls2.": ".residual2.",
}


class Recording(NamedTuple):
    """One file of `record_timm.py`."""

    state: dict[str, Tensor]
    shown: dict[str, Tensor]  # images, tokens, logits; and of another size

    @classmethod
    def read(cls, path: Path) -> "Recording":
        tensors = {key: value.float() for key, value in load_file(path).items()}
        state = {key.removeprefix("state."): value for key, value in tensors.items() if key.startswith("state.")}
        return cls(state, {key: value for key, value in tensors.items() if not key.startswith("state.")})


def ours(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """timm's weights under our names: learned vectors lie in tables, and a norm after the pool is the head's."""
    state = dict(state)
    prefix = [state.pop(name)[0] for name in ("cls_token", "reg_token") if name in state]
    renamed = {"prefix.table.weight": torch.cat(prefix)} if prefix else {}
    if "pos_embed" in state:
        renamed["position.table.vectors.weight"] = state.pop("pos_embed")[0]
    normed = "fc_norm.weight" in state
    for name, value in state.items():
        for theirs, our in (NAMES | ({"fc_norm.": "head.0.", "head.": "head.1."} if normed else {})).items():
            if theirs in name:
                name = name.replace(theirs, our)
                break
        renamed[name] = value
    return renamed


def differences(described: Blueprint, recording: Recording) -> dict[str, float]:
    """The largest difference in the logits and tokens of each image size."""
    model = described.build().eval()
    model.load_state_dict(ours(recording.state), strict=True)
    found = {}
    for which in ("", "other_") if "other_images" in recording.shown else ("",):
        images, tokens, logits = (recording.shown[f"{which}{name}"] for name in ("images", "tokens", "logits"))
        with torch.no_grad():
            found[f"{which}tokens"] = distance(model.features(images).tokens, tokens)
            found[f"{which}logits"] = distance(model(images), logits)
    return found


def distance(one: Tensor, other: Tensor) -> float:
    assert one.shape == other.shape
    return (one - other).abs().max().item()


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_same_numbers_as_timm(name: str) -> None:
    found = differences(BLUEPRINTS[name], Recording.read(RECORDED / f"{name}.safetensors"))
    assert max(found.values()) < TOLERANCE, found


def test_every_recording_is_compared() -> None:
    recorded = {path.stem for path in RECORDED.glob("*.safetensors")} - {"positions"}
    assert recorded == set(BLUEPRINTS)
    assert len(recorded) >= 8


@pytest.mark.parametrize("grid", [(24, 24), (10, 20), (28, 28)])
def test_positions_are_resampled_as_by_timm(grid: tuple[int, int]) -> None:
    recorded = load_file(RECORDED / "positions.safetensors")
    expected = recorded[f"to {grid[0]}x{grid[1]}"]
    prefix, patches = recorded["table"][:1], recorded["table"][1:]
    assert distance(torch.cat([prefix, resample(patches, (14, 14), grid)]), expected) < 1e-4


@pytest.mark.slow
def test_timm_still_computes_what_was_recorded(tmp_path: Path) -> None:
    for path, before in recorded_again("record_timm.py", RECORDED, tmp_path):
        live, kept = load_file(path), load_file(before)
        assert live.keys() == kept.keys()
        for key, value in kept.items():
            if key.startswith("state.") or key.endswith("images") or key == "table":
                assert torch.equal(live[key], value), f"{path.stem}: {key} was drawn differently"
            else:
                assert distance(live[key], value) < TOLERANCE, f"{path.stem}: {key}"
        if path.stem in BLUEPRINTS:
            found = differences(BLUEPRINTS[path.stem], Recording.read(path))
            assert max(found.values()) < TOLERANCE, (path.stem, found)
