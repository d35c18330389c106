"""A plain Vision Transformer in another library's words: the links between a blueprint and a table of names."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from vitlab.errors import UserError
from vitlab.models.plain import Plain
from vitlab.weights.maps.links import Link, joined, one
from vitlab.weights.maps.names import Names, Words


def links(blueprint: Plain, names: Names) -> list[Link]:
    """Every tensor of the blueprint's model, linked with what the library calls it."""
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in blueprint.build().state_dict().items()}
    found = [*_layer("patch.proj", names.patch, names.patches, shapes), *_places(blueprint, names)]
    for layer in range(blueprint.depth):
        found += _block(f"blocks.{layer}.", names.block.format(layer), names, shapes)
    found += _layer("norm", names.norm, names.norms, shapes)
    found += _head(blueprint, names, shapes)
    linked = {ours for link in found for ours in link.ours}
    if nameless := sorted(shapes.keys() - linked):
        raise UserError(f"{names.library} has no name for {nameless[0]} of {blueprint.name}")
    return found


def _layer(ours: str, theirs: str, words: Words, shapes: dict[str, torch.Size]) -> Iterator[Link]:
    """Weight and bias of one layer, where it has them."""
    if f"{ours}.weight" in shapes:
        yield one(f"{ours}.weight", theirs.format(words.weight), words.form)
    if f"{ours}.bias" in shapes:
        yield one(f"{ours}.bias", theirs.format(words.bias), words.bias_form)


def _block(ours: str, theirs: str, names: Names, shapes: dict[str, torch.Size]) -> Iterator[Link]:
    yield from _layer(f"{ours}norm1", theirs + names.norm1, names.norms, shapes)
    for kind, form in (("weight", names.projections.form), ("bias", names.projections.bias_form)):
        if (name := f"{ours}attention.qkv.{kind}") in shapes:
            word = names.projections.weight if kind == "weight" else names.projections.bias
            parts = [theirs + part.format(word) for part in names.qkv]
            yield joined(name, parts, [shapes[name][0] // len(parts)] * len(parts), form)
    yield from _layer(f"{ours}attention.proj", theirs + names.proj, names.joining, shapes)
    yield from _layer(f"{ours}norm2", theirs + names.norm2, names.norms, shapes)
    yield from _layer(f"{ours}mlp.widen", theirs + names.widen, names.dense, shapes)
    yield from _layer(f"{ours}mlp.narrow", theirs + names.narrow, names.dense, shapes)
    for branch, scale in (("residual1", names.scale1), ("residual2", names.scale2)):
        if (name := f"{ours}{branch}.gamma") in shapes and scale:
            yield one(name, theirs + scale)


def _head(blueprint: Plain, names: Names, shapes: dict[str, torch.Size]) -> Iterator[Link]:
    yield from _layer("head", names.head, names.dense, shapes)
    if names.pooled_norm:
        yield from _layer("head.0", names.pooled_norm, names.norms, shapes)
        yield from _layer("head.1", names.head, names.dense, shapes)
    if names.head_distillation:
        yield from _layer("head.cls", names.head, names.dense, shapes)
        yield from _layer("head.distillation", names.head_distillation, names.dense, shapes)


def _places(blueprint: Plain, names: Names) -> Iterator[Link]:
    """The tokens before the patches, and the table of positions."""
    prefix, table, tokens = blueprint.prefix, "position.table.vectors.weight", "prefix.table.weight"
    wanted = [(names.cls, int(prefix.cls)), (names.distillation, int(prefix.distillation))]
    there = [(name, count) for name, count in [*wanted, (names.registers, prefix.registers)] if name and count]
    learned = blueprint.position.model_dump() | {}
    places = learned.get("kind") == "learned"
    if names.class_position and prefix.cls and places and not learned["prefix"]:
        yield _folded(tokens, table, [name for name, _ in there], [count for _, count in there], names.position)
        return
    if there:
        yield joined(tokens, [name for name, _ in there], [count for _, count in there], names.tokens)
    if places:
        yield one(table, names.position, names.positions)


def _folded(tokens: str, table: str, theirs: Sequence[str], sizes: Sequence[int], position: str) -> Link:
    """There the class token has a position of its own, here it is part of the token: their sum is all that counts."""

    def inward(given: list[Tensor]) -> list[Tensor]:
        cls, *registers, places = (tensor.squeeze(0) for tensor in given)
        return [torch.cat([cls + places[:1], *registers]), places[1:]]

    def outward(given: list[Tensor]) -> list[Tensor]:
        nowhere = given[1].new_zeros(1, given[1].shape[1])
        parts = [*given[0].split(list(sizes)), torch.cat([nowhere, given[1]])]
        return [part.unsqueeze(0) for part in parts]

    return Link((tokens, table), (*theirs, position), inward, outward)
