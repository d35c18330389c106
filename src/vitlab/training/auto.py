"""What `auto` stands for: which model, pretrained or not, and which recipe, by the size and the number of images.

The rules are tables, so that a better measurement changes a row. Each answer comes with its reason.
"""

import math
from collections.abc import Sequence
from typing import Any

from vitlab.models.families.compact import compact
from vitlab.models.families.vit import vit, vit_for_few
from vitlab.models.plain import Plain
from vitlab.training.recipe import RECIPES

# Largest side of the images -> (side to train at, None: as it is), patch.
_PATCHES = ((12, 2), (40, 4), (80, 8))
_LARGEST = (224, 16)
# Images to train on -> size of the model. More images carry a larger one.
_FEW, _MANY = 5_000, 200_000
_SIZES = ((_FEW, "few"), (_MANY, "tiny"), (math.inf, "small"))
_COMPACT = (24, 40)  # sides between which convolutions before the blocks learn in minutes what else takes hours


def model(side: int, images: int, classes: int, channels: int, asked: int | None = None) -> tuple[Plain, str]:
    """A ViT for images of about this side and so many of them, or of exactly the side asked for; and why."""
    side = asked or side
    if _FEW < images <= _MANY and _COMPACT[0] <= side <= _COMPACT[1]:
        chosen = compact(image=side, classes=classes, channels=channels).change(name=f"vit_compact_{side}")
        return chosen, f"{images:,} images of {side} pixels: convolutions, then {chosen.depth} blocks, learn in minutes"
    size = next(size for limit, size in _SIZES if images <= limit)
    image, patch = next(((side, patch) for limit, patch in _PATCHES if side <= limit), _LARGEST)
    whole = math.ceil(image / patch) * patch
    make = vit_for_few if size == "few" else vit
    chosen = make(size, patch=patch, image=whole, classes=classes, channels=channels)
    image = asked or whole
    chosen = chosen.change(name=f"vit_{size}_patch{patch}_{image}", image=image)
    reason = (
        f"images of {side} pixels are cut into {image // patch}x{image // patch} patches of {patch}; "
        f"{images:,} images to train on carry a width of {chosen.width} and {chosen.depth} blocks"
    )
    return chosen, reason


def recipe(model: str, side: int, images: int, channels: int) -> tuple[str, dict[str, Any], str]:
    """The name of a recipe for a model of that name, what to change of it, and why."""
    if images <= _FEW:
        return "few", {}, f"{images:,} images are few: small batches, turned, moved and slanted"
    signs, grey = "small grey images are often signs: turned and moved, not mirrored", _small_and_grey(side, channels)
    if model.startswith("vit_compact_"):
        changes = {"augment": RECIPES["grey"].augment} if grey else {}
        return "compact", changes, f"made for models of its kind{f'; {signs}' if grey else ''}"
    if grey:
        return "grey", {}, f"{signs} ({images:,} of {side} pixels)"
    if images <= _MANY:
        return "cifar", {}, f"{images:,} images of {side} pixels"
    return "imagenet", {}, f"{images:,} images are many"


def _small_and_grey(side: int, channels: int) -> bool:
    return channels == 1 and side <= _PATCHES[-1][0]


# Device -> checkpoints of the catalogue to fine-tune there, the best first. Where there is no GPU, only those of little
# more than a billion multiply-adds an image.
_LIGHT = ("vit_small_patch32_224", "vit_tiny_patch16_224", "deit_tiny_patch16_224")
_PRETRAINED = {
    "cpu": _LIGHT,
    "mps": ("vit_small_patch16_224", "deit_small_patch16_224", *_LIGHT),
    "cuda": ("vit_base_patch16_224", "deit_base_patch16_224", "vit_small_patch16_224", *_LIGHT),
}
_COLOURS = (1, 3)  # grey photographs are shown to them in colours
_ENOUGH = 1_000_000  # images from which a model learns by itself what a pretrained one knows


def pretrained(side: int, images: int, channels: int, device: str) -> tuple[tuple[str, ...], str]:
    """Checkpoints that suit images of about this side, the best first; if there are none, why."""
    if side <= _PATCHES[-1][0]:
        return (), f"images of {side} pixels are too small for a pretrained model"
    if channels not in _COLOURS:
        return (), f"no pretrained model knows images of {channels} channels"
    if images > _ENOUGH:
        return (), f"{images:,} images teach what a pretrained model knows"
    return _PRETRAINED[device], ""


# Images to train on -> epochs, for a model that knows much already. Few images want more rounds of them.
_TUNING = ((1_000, 60), (10_000, 30), (200_000, 10), (math.inf, 5))


def tuning(side: int, images: int, channels: int) -> tuple[dict[str, Any], str]:
    """What to change of the recipe that fine-tunes, and why."""
    changes: dict[str, Any] = {
        "epochs": next(epochs for limit, epochs in _TUNING if images <= limit),
        "batch": 32 if images <= _TUNING[0][0] else 128,
    }
    reason = f"the model is trained already; {images:,} images turn it to these classes"
    if _small_and_grey(side, channels):
        changes["augment"] = RECIPES["grey"].augment
        reason += ", not mirrored, as small grey images are often signs"
    return changes, reason


def typical_side(sizes: Sequence[tuple[int, int]]) -> int:
    """The median of the shorter sides."""
    shorter = sorted(min(size) for size in sizes)
    return shorter[len(shorter) // 2]
