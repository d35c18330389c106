"""Blueprints: to and from JSON, changed in one expression, refused in a sentence that names the field."""

import json
from typing import Literal

import pytest
import torch
from torch import nn

import vitlab
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.models.registry import models
from vitlab.parts.attention import SelfAttention, Softmax
from vitlab.parts.block import PostNorm, PreNorm
from vitlab.parts.head import Normed
from vitlab.parts.norm import Norm
from vitlab.parts.patch import Overlap, Unfold
from vitlab.parts.performer import Performer
from vitlab.parts.pool import Attend, Mean
from vitlab.parts.position import SinCos
from vitlab.parts.reduction import Reduced
from vitlab.parts.residual import Scale
from vitlab.parts.rotary import Bias, Rotary
from vitlab.parts.sparse import Local
from vitlab.parts.tokens import Prefix

from .small import SMALL


@pytest.mark.parametrize("name", models())
def test_a_blueprint_comes_back_from_json_as_it_was(name):
    blueprint = vitlab.blueprint(name)
    assert blueprint.name == name
    assert Blueprint.read(blueprint.model_dump_json()) == blueprint
    assert Blueprint.read(json.loads(blueprint.model_dump_json())) == blueprint
    assert type(blueprint).read(blueprint.model_dump()) == blueprint


CHANGES = {
    "a number": ({"width": 48}, lambda b: b.width == 48),
    "a kind": ({"pool": "mean"}, lambda b: b.pool == Mean()),
    "data": ({"pool": {"kind": "attend", "heads": 2}}, lambda b: b.pool == Attend(heads=2)),
    "a part": ({"pool": Attend(heads=2)}, lambda b: b.pool == Attend(heads=2)),
    "position": (
        {"position": {"kind": "sincos", "combine": "concat"}},
        lambda b: b.position == SinCos(combine="concat"),
    ),
    "position, inside": ({"position__combine": "concat"}, lambda b: b.position.combine == "concat"),
    "patch": ({"patch": Unfold(size=4)}, lambda b: b.patch == Unfold(size=4)),
    "patch, inside": ({"patch__size": (4, 2)}, lambda b: b.patch.grid((8, 8)) == (2, 4)),
    "prefix": ({"prefix": Prefix(registers=2)}, lambda b: b.prefix.count == 3),
    "prefix, inside": ({"prefix__registers": 2}, lambda b: b.prefix.count == 3),
    "block order": (
        {"block": PostNorm(attention=SelfAttention(heads=4))},
        lambda b: b.block == PostNorm(attention=SelfAttention(heads=4)),
    ),
    "attention": (
        {"block__attention": {"kind": "reduced", "heads": 2}},
        lambda b: b.block.attention == Reduced(heads=2),
    ),
    "core": (
        {"block__attention__core": Performer(features=8)},
        lambda b: b.block.attention.core == Performer(features=8),
    ),
    "core by its kind": ({"block__attention__core": "local"}, lambda b: b.block.attention.core == Local()),
    "relative": ({"block__attention__relative": "rotary"}, lambda b: b.block.attention.relative == Rotary()),
    "relative, as a part": ({"block__attention__relative": Bias()}, lambda b: b.block.attention.relative == Bias()),
    "heads": ({"block__attention__heads": 8}, lambda b: b.block.attention.heads == 8),
    "mlp": ({"block__mlp__activation": "relu"}, lambda b: b.block.mlp.activation == "relu"),
    "residual": ({"block__residual": {"kind": "scale", "start": 0.1}}, lambda b: b.block.residual == Scale(start=0.1)),
    "norm": ({"norm": None}, lambda b: b.norm is None),
    "head": ({"head": "normed"}, lambda b: b.head == Normed()),
    "first values": ({"init__vectors": "unit"}, lambda b: b.init.vectors == "unit"),
    "several at once": (
        {"pool": "mean", "prefix__cls": False, "block__attention__core__kind": "softmax", "classes": 3},
        lambda b: (b.pool, b.prefix.count, b.block.attention.core, b.classes) == (Mean(), 0, Softmax(), 3),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_one_expression_changes(what):
    changes, came_about = CHANGES[what]
    changed = SMALL.change(**changes)
    assert not came_about(SMALL)
    assert came_about(changed)
    assert Blueprint.read(changed.model_dump_json()) == changed
    assert changed.change() == changed
    # what was not named stays
    kept = {field for field in Plain.model_fields if not any(path.split("__")[0] == field for path in changes)}
    assert all(getattr(changed, field) == getattr(SMALL, field) for field in kept)


def test_another_kind_keeps_no_settings_of_the_old():
    overlap = SMALL.change(patch=Overlap(size=3, stride=2, padding=1))
    assert overlap.change(patch={"kind": "overlap", "size": 5}).patch == Overlap(size=5)


class Rms(Norm):
    """Someone else's norm: x / sqrt(mean(x^2)), defined outside vitlab."""

    kind: Literal["test_rms"] = "test_rms"
    eps: float = 1e-6

    def build(self, width: int) -> nn.Module:
        return nn.RMSNorm(width, eps=self.eps)


@pytest.mark.parametrize("given", ["test_rms", {"kind": "test_rms"}, Rms()])
def test_a_part_of_someone_elses_works_by_its_kind(given):
    changed = SMALL.change(norm=given, block__norm=Rms(eps=1e-3))
    back = Blueprint.read(changed.model_dump_json())
    assert back == changed
    assert back.norm == Rms()
    model = back.build().eval()
    assert [type(module) for module in (model.norm, model.blocks[0].norm1)] == [nn.RMSNorm, nn.RMSNorm]
    tokens = model.features(torch.randn(2, 1, 8, 8)).tokens
    torch.testing.assert_close(tokens.square().mean(dim=2), torch.ones(2, 17), rtol=1e-2, atol=0)


def test_a_subclass_without_a_kind_of_its_own_takes_nobodys_place():
    class Loud(PreNorm):
        pass

    assert Loud not in PreNorm.kinds.values()
    assert PreNorm.kinds["pre"] is PreNorm


def test_a_number_reaches_into_a_list_of_parts():
    shifted = {"size": 2, "shift": 1, "kind": "window"}
    turns = {"kind": "alternate", "blocks": [{"kind": "pre", "attention": {"kind": "self", "heads": 4}}] * 2}
    alternate = vitlab.blueprint("vit_few_patch2_8").change(block=turns, prefix={"cls": False}, pool="mean")
    changed = alternate.change(block__blocks__1__attention__core=shifted)
    assert changed.block.blocks[0].attention.core.kind == "softmax"
    assert changed.block.blocks[1].attention.core.shift == 1
    with pytest.raises(vitlab.UserError, match="no '2' to change"):
        alternate.change(block__blocks__2__attention__heads=2)
    with pytest.raises(vitlab.UserError, match="'width' is a value, with no 'heads' inside"):
        alternate.change(width__heads=2)
