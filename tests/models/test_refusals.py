"""Wrong blueprints: one sentence that names the field and what would do."""

import pytest

import vitlab
from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint

from .small import SMALL

NO_CLASS_TOKEN = {"prefix": {"cls": False}, "pool": "mean"}

REFUSED = {
    "an unknown kind": ({"pool": "men"}, ["pool: no pool of kind 'men'", "did you mean 'mean'"]),
    "an unknown kind inside": (
        {"block__attention__core": "sofmax"},
        ["block.attention.core: no core of kind 'sofmax'", "did you mean 'softmax'"],
    ),
    "no kind": ({"pool": {"heads": 2}}, ["pool: wants a kind, one of cls, cls_distillation, mean"]),
    "a kind that is no word": ({"pool": {"kind": ["mean"]}}, ["pool: wants a kind"]),
    "a part of another slot": ({"pool": {"kind": "layer"}}, ["pool: no pool of kind 'layer'"]),
    "an unknown field": ({"widht": 48}, ["no 'widht'", "did you mean 'width'"]),
    "an unknown field of a part": ({"patch": {"kind": "conv", "sise": 2}}, ["patch.sise: no such field"]),
    "an unknown path": ({"blok__mlp__ratio": 2}, ["no 'blok'", "did you mean 'block'"]),
    "an unknown step": ({"block__atention__heads": 2}, ["no 'atention'", "did you mean 'attention'"]),
    "an unknown end": ({"block__attention__head": 2}, ["no 'head'", "did you mean 'heads'"]),
    "a part without what it needs": ({"block": {"kind": "pre"}}, ["block.attention", "is missing"]),
    "a number out of range": ({"drop_path": 1.0}, ["drop_path", "less than 1"]),
    "a word for a number": ({"width": "wide"}, ["width", "'wide'"]),
    "a patch that does not divide": (
        {"image": 9},
        ["patches of 2x2 do not divide an image of 9x9", "a patch of 1, 3, 9", "an image of 8x8 or 10x10"],
    ),
    "a patch that divides one side": (
        {"image": (8, 15), "patch__size": 4},
        ["4x4 do not divide an image of 8x15", "a patch of 1, or an image of 8x12 or 8x16"],
    ),
    "a patch of nothing": ({"patch__size": 0}, ["a patch of 0x0 has no pixels"]),
    "heads that do not divide": (
        {"block__attention__heads": 7},
        ["7 heads do not divide a width of 96", "take 1, 2, 3, 4, 6, 8, 12, 16, 24 heads", "a width of 91 or 98"],
    ),
    "heads of a pool that do not divide": (
        {"pool": {"kind": "attend", "heads": 5}},
        ["5 heads do not divide a width of 96"],
    ),
    "a distillation token that is not there": (
        {"pool": "cls_distillation", "head": "averaged"},
        ["the pool takes the distillation token, but prefix.distillation is off"],
    ),
    "a head for two vectors and one pooled": (
        {"head": "averaged"},
        ["the head reads 2 vectors side by side and the pool gives 1", "pool by cls_distillation"],
    ),
    "a relative bias without a taker": (
        {"block__attention__core": "performer", "block__attention__relative": "bias"},
        ["block.attention: a core of kind 'performer' cannot take a relative bias"],
    ),
    "fewer keys for a core that wants them all": (
        {"block__attention": {"kind": "reduced", "heads": 3, "core": "local"}},
        ["block.attention: a core of kind 'local' wants as many keys as queries"],
    ),
    "windows with a class token": (
        {"block__attention__core": "window"},
        ["sees the grid of patches alone", "prefix={'cls': False}", "pool by mean"],
    ),
    "windows with registers": (
        {**NO_CLASS_TOKEN, "prefix": {"cls": False, "registers": 2}, "block__attention__core": "window"},
        ["sees the grid of patches alone"],
    ),
    "a shift longer than the window": (
        {**NO_CLASS_TOKEN, "block__attention__core": {"kind": "window", "size": 2, "shift": 2}},
        ["a shift of 2 does not fit windows of 2"],
    ),
    "the class token's pool without one": ({"prefix__cls": False}, ["prefix.cls is off", "pool by mean"]),
    "sines of an odd width": ({"position": "sincos", "width": 90}, ["wants a width that 4 divides, not 90"]),
    "phases of odd heads": (
        {"block__attention__relative": "rotary", "width": 90},
        ["heads of a width that 4 divides, not 30"],
    ),
    "a reduction to nothing": (
        {"block__attention": {"kind": "reduced", "heads": 3, "ratio": 5}},
        ["a reduction of 5 leaves nothing of a grid of 4x4"],
    ),
    "an mlp of nothing": ({"block__mlp__ratio": 0.001}, ["a ratio of 0.001 leaves nothing of a width of 96"]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused_in_a_sentence(what):
    changes, words = REFUSED[what]
    with pytest.raises(UserError) as refused:
        SMALL.change(**changes)
    sentence = str(refused.value)
    assert sentence.startswith("small: ")
    assert "\n" not in sentence
    assert [word for word in words if word not in sentence] == []


@pytest.mark.parametrize("data", ["{", "[]", "{}", '{"kind": "plane"}', '{"kind": "plain", "wide": 3}'])
def test_data_that_is_no_blueprint_is_refused_by_name(data):
    with pytest.raises(UserError, match=r"^it: "):
        Blueprint.read(data, "it")


def test_an_unknown_model_is_told_the_nearest_name():
    with pytest.raises(UserError, match="no model 'vit_simpel_patch8_32'; did you mean 'vit_simple_patch8_32'"):
        vitlab.blueprint("vit_simpel_patch8_32")
