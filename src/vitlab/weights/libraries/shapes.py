"""A blueprint from nothing but the names and shapes of its weights."""

from math import isqrt

import torch
from torch import Tensor

from vitlab.errors import UserError
from vitlab.models.plain import Plain
from vitlab.models.sizes import SIZES
from vitlab.parts.patch import as_pair
from vitlab.weights.maps.names import Names
from vitlab.weights.reading.checkpoint import Checkpoint


def blueprint(checkpoint: Checkpoint, names: Names, like: Plain | None, **known: object) -> Plain:
    """What the shapes say; what they do not (heads, activation, epsilon) is that of `like`, or what is usual.

    `known` are changes to the blueprint that the caller knows better.
    """
    base = like or Plain(dropout=0.0)
    patch = names.patches.form.inward(_like(checkpoint, names.patch.format(names.patches.weight)))
    width, channels, sides = patch.shape[0], patch.shape[1], (patch.shape[2], patch.shape[3])
    depth = 0
    while names.block.format(depth) + names.norm1.format(names.norms.weight) in checkpoint.shapes:
        depth += 1
    if like is not None and like.width != width:  # with its heads the model would answer, and wrongly
        raise UserError(
            f"{checkpoint.path} holds weights of width {width}, not of {like.name} with {like.width}; "
            "name the model that they are of, or none"
        )
    first = names.block.format(0)
    hidden = names.dense.form.inward(_like(checkpoint, first + names.widen.format(names.dense.weight))).shape[0]
    tokens = {
        "cls": names.cls in checkpoint.shapes,
        "distillation": bool(names.distillation and names.distillation in checkpoint.shapes),
        "registers": _count(checkpoint, names.registers),
    }
    changes: dict[str, object] = {
        "width": width,
        "depth": depth,
        "channels": channels,
        "patch__size": sides[0] if sides[0] == sides[1] else sides,
        "prefix": tokens,
        "block__mlp__ratio": hidden / width,
        "block__attention__qkv_bias": first + names.qkv[0].format(names.projections.bias) in checkpoint.shapes,
        **_head(checkpoint, names, like),
    }
    if "block__attention__heads" not in known:
        changes["block__attention__heads"] = _heads(checkpoint, width, depth, like)
    scaled = names.scale1 is not None and first + names.scale1 in checkpoint.shapes
    if scaled != (base.block.model_dump()["residual"]["kind"] == "scale"):
        changes["block__residual"] = "scale" if scaled else "add"
    changes |= _position(checkpoint, names, tokens, sides, base)
    return base.change(**(changes | known))


def _position(
    checkpoint: Checkpoint, names: Names, tokens: dict[str, int], patch: tuple[int, int], base: Plain
) -> dict[str, object]:
    """The image's size from the number of positions, and whether the tokens before the patches have some."""
    if names.position not in checkpoint.shapes:
        return {"position": "none"}
    rows = checkpoint.shapes[names.position][-2]
    before = sum(tokens.values())
    # A count may be a square with and without the tokens before the patches: never both, from 2 by 2 patches on.
    for own, count in ((True, before), (False, 0), (False, 1 if names.class_position else 0)):
        patches = rows - count
        wanted = as_pair(base.image)
        grid = (wanted[0] // patch[0], wanted[1] // patch[1])
        if grid[0] * grid[1] != patches:
            grid = (isqrt(max(patches, 0)),) * 2
        if patches > 0 and grid[0] * grid[1] == patches and not (own and names.class_position and tokens["registers"]):
            image = (grid[0] * patch[0], grid[1] * patch[1])
            return {"image": image, "position": base.position.model_dump() | {"kind": "learned", "prefix": own}}
    raise UserError(
        f"{checkpoint.path} has {rows} positions, which are no square grid of patches; "
        "say what it is a model of (--model), with the size of its images"
    )


def _head(checkpoint: Checkpoint, names: Names, like: Plain | None) -> dict[str, object]:
    weight = names.head.format(names.dense.weight)
    given = checkpoint.shapes.get(weight)
    classes = names.dense.form.inward(_like(checkpoint, weight)).shape[0] if given else 0
    found: dict[str, object] = {"classes": classes}
    pooled = names.pooled_norm and names.pooled_norm.format(names.norms.weight) in checkpoint.shapes
    if names.head_distillation and names.head_distillation.format("weight") in checkpoint.shapes:
        return found | {"pool": "cls_distillation", "head": "averaged"}
    if pooled:
        return found | {"norm": None, "head": "normed", "pool": like.pool.model_dump() if like else "mean"}
    return found if like else found | {"pool": "cls" if names.cls in checkpoint.shapes else "mean"}


def _heads(checkpoint: Checkpoint, width: int, depth: int, like: Plain | None) -> int:
    """Shapes do not tell the number of heads: that of the published size with this width and depth."""
    if like is not None:
        return int(like.block.model_dump()["attention"]["heads"])
    for size in SIZES.values():
        if (size.width, size.depth) == (width, depth):
            return size.heads
    raise UserError(
        f"{checkpoint.path}: weights do not tell how many heads a model of width {width} and depth {depth} has; "
        "say what it is a model of (--model)"
    )


def _count(checkpoint: Checkpoint, name: str | None) -> int:
    return checkpoint.shapes[name][-2] if name and name in checkpoint.shapes else 0


def _like(checkpoint: Checkpoint, name: str) -> Tensor:
    """A tensor of that shape without numbers."""
    if name not in checkpoint.shapes:
        raise UserError(f"{checkpoint.path} has no {name}; it is no whole Vision Transformer")
    return torch.empty(checkpoint.shapes[name], device="meta")
