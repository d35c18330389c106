"""A model made small: the same parts on a grid of 4 x 4 of its own patches, two layers, narrow heads."""

import math
from collections.abc import Iterator
from typing import Any

from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.models.resnet import ResNet
from vitlab.parts.patch import Patch
from vitlab.parts.stem import Small, Wide

HEAD_WIDTH = 8
_SIDES = {Wide: 128, Small: 32}  # of images of which the last of four stages sees 4 x 4


def miniature(blueprint: Blueprint) -> Blueprint:
    """The blueprint with sizes that a test can afford; parts, heads and patch as they were."""
    if isinstance(blueprint, ResNet):
        return blueprint.change(width=HEAD_WIDTH, depths=[1, 2, 1, 1], image=_SIDES[type(blueprint.stem)], classes=5)
    if not isinstance(blueprint, Plain):
        raise NotImplementedError(f"say here how a model of kind {blueprint.model_dump()['kind']!r} is made small")
    description = blueprint.model_dump()
    return blueprint.change(
        width=HEAD_WIDTH * math.lcm(*_named("heads", description)),
        depth=max(2, *(len(blocks) for blocks in _named("blocks", description)), 0),
        image=image_of(blueprint.patch, (4, 4)),
        classes=5,
    )


def image_of(patch: Patch, grid: tuple[int, int]) -> tuple[int, int]:
    """The smallest image that this patch cuts into this grid; each side is tried with the other large enough."""
    sides = [next(side for side in range(1, 1025) if _count(patch, side) == count) for count in grid]
    return sides[0], sides[1]


def _count(patch: Patch, side: int) -> int:
    try:
        return patch.grid((side, side))[0]
    except UserError:
        return 0


def _named(name: str, data: Any) -> Iterator[Any]:
    """Every entry of this name, however deep."""
    if isinstance(data, dict):
        if name in data:
            yield data[name]
        for value in data.values():
            yield from _named(name, value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _named(name, value)
