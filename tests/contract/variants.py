"""Every part of every slot, each as a change to one small ViT on a grid of 3 x 5 (not square: rows are not columns)."""

from typing import Any

from vitlab.models.plain import Plain
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.patch import Conv

BASE = Plain(
    image=(6, 10),
    classes=5,
    width=24,
    depth=2,
    patch=Conv(size=2),
    block=PreNorm(attention=SelfAttention(heads=3)),
)

_NO_PREFIX: dict[str, Any] = {"prefix": {"cls": False}, "pool": "mean"}


def _core(kind: str, **settings: Any) -> dict[str, Any]:
    return {"block__attention__core": {"kind": kind, **settings}}


def _windows(size: int, *shifts: int, **attention: Any) -> dict[str, Any]:
    """Blocks by turns, one for each shift."""
    kinds = [{"kind": "self", "heads": 3, "core": {"kind": "window", "size": size, "shift": s}} for s in shifts]
    blocks = [{"kind": "pre", "attention": {**kind, **attention}} for kind in kinds]
    return {**_NO_PREFIX, "block": {"kind": "alternate", "blocks": blocks}}


VARIANTS: dict[str, dict[str, Any]] = {
    "the base": {},
    "square images": {"image": (8, 8)},
    # patches
    "unfold": {"patch": {"kind": "unfold", "size": 2}},
    "oblong patches": {"patch": {"kind": "conv", "size": (1, 2)}, "image": (3, 10)},
    "stem": {"patch": {"kind": "stem", "widths": (4,)}, "image": (12, 20)},
    "tower": {
        "patch": {"kind": "tower", "filters": {"kind": "learned", "count": 3}, "widths": (4,), "convolutions": 2},
        "image": (13, 21),
    },
    "whitening tower": {"patch": {"kind": "tower", "filters": "whitening", "widths": (4,)}, "image": (13, 21)},
    "overlap": {"patch": {"kind": "overlap", "size": 3, "stride": 2}},
    # positions
    "no positions": {"position": "none"},
    "learned, not for the prefix": {"position": {"kind": "learned", "prefix": False, "resample": "bilinear"}},
    "sinusoidal": {"position": "sinusoidal"},
    "sincos": {"position": "sincos"},
    "factorised": {"position": "factorised"},
    "learned beside": {"position": {"kind": "learned", "combine": "concat"}},
    "sinusoidal beside": {"position": {"kind": "sinusoidal", "combine": "concat"}},
    "sincos beside": {"position": {"kind": "sincos", "combine": "concat"}},
    "factorised beside": {"position": {"kind": "factorised", "combine": "concat"}},
    "rotary": {"block__attention__relative": "rotary", "position": "none"},
    # Pooled by mean: what a class token takes from the last block does not depend on a bias from patch to patch.
    "relative bias": {"block__attention__relative": "bias", "position": "none", "pool": "mean"},
    "neighbours": {"block__attention__relative": "neighbours", "position": "none", "pool": "mean"},
    # tokens before the patches, and what the head reads
    "distillation and registers": {"prefix": {"distillation": True, "registers": 2}},
    "registers without a class token": {"prefix": {"cls": False, "registers": 2}, "pool": "mean"},
    "rotary with registers": {"block__attention__relative": "rotary", "prefix__registers": 2},
    "relative bias with registers": {"block__attention__relative": "bias", "prefix__registers": 2, "pool": "mean"},
    "nothing before the patches": _NO_PREFIX,
    "class token and mean": {"pool": "cls_mean", "position": {"kind": "learned", "resample": "bicubic_aliased"}},
    "two tokens, each with a head": {"prefix__distillation": True, "pool": "cls_distillation", "head": "averaged"},
    "max": {"pool": "max"},
    "sequence pool": {"pool": "sequence"},
    "attending pool": {"pool": {"kind": "attend", "heads": 4}},
    "a normed head": {"norm": None, "head": "normed", "pool": "mean"},
    # blocks
    "post-norm": {"block": {"kind": "post", "attention": {"kind": "self", "heads": 3}}},
    "layer scale": {"block__residual": {"kind": "scale", "start": 0.1}},
    "relu": {"block__mlp__activation": "relu"},
    "gelu by tanh": {"block__mlp": {"kind": "mlp", "ratio": 2.0, "activation": "gelu_tanh"}},
    "no qkv bias": {"block__attention__qkv_bias": False},
    "dropout": {"dropout": 0.2, "drop_path": 0.2},
    # attention
    "reduced": {"block__attention": {"kind": "reduced", "heads": 3, "ratio": 2}},
    "reduced and mixed": {
        "block__attention": {"kind": "reduced", "heads": 3, "core": {"kind": "linformer", "rank": 2}}
    },
    "performer": _core("performer", features=16),
    "performer with rotary": {**_core("performer", features=16), "block__attention__relative": "rotary"},
    "linformer": _core("linformer", rank=4),
    "local": _core("local", radius=1),
    "local with more global tokens": _core("local", radius=1, extra_global=2),
    "local with relative bias": {**_core("local", radius=1), "block__attention__relative": "bias", "pool": "mean"},
    "local without a class token": {**_core("local", radius=1), **_NO_PREFIX},
    "windows by turns": _windows(2, 0, 1),
    "windows by turns with relative bias": _windows(2, 0, 1, relative="bias"),
    "windows by turns with rotary": _windows(2, 0, 1, relative="rotary"),
    "windows that divide the grid": {**_windows(2, 0, 1), "image": (8, 12)},
    "windows larger than the grid": _windows(7, 0, 3, relative="bias"),
    # first values
    "normal": {"init": "normal"},
    "xavier": {"init": "xavier"},
    "positions from zero": {"init": {"kind": "truncated", "vectors": "zeros"}},
    "positions of unit size": {"init": {"kind": "normal", "vectors": "unit"}},
}
