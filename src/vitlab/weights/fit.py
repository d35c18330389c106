"""Weights made to fit another image size, patch size, number of channels, classes or pool; each change is said."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vitlab.bundle import Bundle, Card, assemble
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.parts.patch import as_pair
from vitlab.parts.position import resample
from vitlab.strangers import sensible, some
from vitlab.weights.libraries.described import of_channels
from vitlab.weights.resample import input_channels, patch_kernels
from vitlab.weights.say import Say

State = dict[str, Tensor]

_KERNELS, _POSITIONS = "patch.proj.weight", "position.table.vectors.weight"
_FIRST = (_KERNELS, "conv1.weight")  # what looks at the image


class Wanted(NamedTuple):
    """What the weights have to fit; None leaves it as it is."""

    size: int | tuple[int, int] | None = None
    patch: int | tuple[int, int] | None = None
    channels: int | None = None
    classes: int | Sequence[str] | None = None
    pool: str | None = None


def fit(found: Bundle, wanted: Wanted, say: Say) -> Bundle:
    """The bundle with weights that fit what is wanted; itself, where it does already."""
    blueprint = found.card.blueprint
    classes = _class_names(wanted.classes, found.classes)
    asked: dict[str, Any] = {
        "image": wanted.size,
        "patch__size": wanted.patch,
        "channels": wanted.channels,
        "classes": len(classes),
        "pool": wanted.pool,
    }
    target = blueprint.change(**{path: value for path, value in asked.items() if value is not None})
    return refit(found, target, classes, say)


def refit(found: Bundle, target: Blueprint, classes: tuple[str, ...], say: Say) -> Bundle:
    """The bundle's weights in the model of another blueprint, which may differ in what `Wanted` lists."""
    old = found.card.blueprint
    if target == old and classes == found.classes:
        return found
    state = dict(found.model.state_dict())
    if isinstance(old, Plain) and isinstance(target, Plain):
        state = _patches(state, old, target, say)
        state = _positions(state, old, target, say)
    state = _channels(state, old, target, say)
    with torch.device("meta"):
        empty = target.build()
    known = found.classes if classes == found.classes or not numbered(found.card) else ()
    state = _heads(state, known, classes, old, target, empty.state_dict(), say)
    _check(state, empty.state_dict(), old)
    card = found.card
    with sensible("the model wanted"):
        fitted = Card(
            blueprint=target,
            preprocess=_preprocess(card.preprocess, target),
            classes=classes,
            data=card.data,
            versions=card.versions,
            command=card.command,
            created=card.created,
        )
    return assemble(fitted, state, empty, "the weights")


def numbered(card: Card) -> bool:
    """Whether the classes of someone's checkpoint have no names but their numbers: a number says nothing about a class.

    A model trained here on classes called 0 to 9 knows them by that name.
    """
    return "weights" in card.data and card.classes == tuple(map(str, range(len(card.classes))))


def _class_names(wanted: int | Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if wanted is None or wanted == len(known):
        return known
    if isinstance(wanted, int) and wanted < 0:
        raise UserError(f"classes wants at least 0, not {wanted}")
    return tuple(map(str, range(wanted))) if isinstance(wanted, int) else tuple(wanted)


def _patches(state: State, old: Plain, new: Plain, say: Say) -> State:
    """Kernels for the new patch size."""
    kernels = state.get(_KERNELS)
    sizes = [as_pair(size) for size in (getattr(old.patch, "size", 0), getattr(new.patch, "size", 0))]
    if kernels is None or kernels.dim() != 4 or type(old.patch) is not type(new.patch):
        return state
    if sizes[0] != sizes[1]:
        kernels = patch_kernels(kernels, sizes[1])
        say(f"patches: {_by(sizes[0])} to {_by(sizes[1])} pixels, kernels resampled by pseudo-inverse")
    return state | {_KERNELS: kernels}


def _channels(state: State, old: Blueprint, new: Blueprint, say: Say) -> State:
    """The first kernels for the new number of channels."""
    first = next((name for name in _FIRST if name in state and state[name].dim() == 4), None)
    if old.channels == new.channels or first is None:
        return state
    how = "summed up" if new.channels == 1 else "taken by turns and scaled"
    say(f"channels: {old.channels} to {new.channels}, kernels {how}; means and deviations follow")
    return state | {first: input_channels(state[first], new.channels)}


def _positions(state: State, old: Plain, new: Plain, say: Say) -> State:
    """Tables of positions for the new grid."""
    grids = [described.patch.grid(described.image) for described in (old, new)]
    if grids[0] == grids[1]:
        return state
    if (table := state.get(_POSITIONS)) is not None:
        own = len(table) - grids[0][0] * grids[0][1]
        mode = getattr(new.position, "resample", "bicubic")
        state = state | {_POSITIONS: torch.cat([table[:own], resample(table[own:], grids[0], grids[1], mode)])}
        say(f"positions: {_by(grids[0])} to {_by(grids[1])} patches, resampled ({mode})")
    for name, axis in (("rows", 0), ("columns", 1)):
        if (lines := state.get(f"position.table.{name}.weight")) is not None and grids[0][axis] != grids[1][axis]:
            found = resample(lines, (grids[0][axis], 1), (grids[1][axis], 1))
            state = state | {f"position.table.{name}.weight": found}
            say(f"positions: {grids[0][axis]} to {grids[1][axis]} {name}, resampled")
    return state


def _heads(
    state: State,
    old_names: tuple[str, ...],
    names: tuple[str, ...],
    old: Blueprint,
    new: Blueprint,
    wanted: Mapping[str, Tensor],
    say: Say,
) -> State:
    """A head for the new classes: rows of classes known by name are kept, the others start anew."""
    of_classes = _per_class(new)
    here = {name for name in state if name in _per_class(old)}
    reshaped = any(name in wanted and state[name].shape[1:] != wanted[name].shape[1:] for name in here)
    fresh_pool = {name for name in wanted if name.startswith("pool.") and name not in state}
    dropped_pool = {name for name in state if name.startswith("pool.") and name not in wanted}
    anew = bool(reshaped or fresh_pool or dropped_pool)
    if getattr(old, "pool", None) != getattr(new, "pool", None):
        fate = "the head begins anew" if anew else "the head was trained on the other, and wants training"
        say(f"pool: {_kind(old)} to {_kind(new)}; {fate}")
    if (old.classes, old_names) == (new.classes, names) and not anew:
        return state
    fresh = new.build().state_dict()
    kept = {i: old_names.index(name) for i, name in enumerate(names) if name in old_names} if not reshaped else {}
    found = {name: tensor for name, tensor in state.items() if name not in here | dropped_pool}
    found |= {name: fresh[name] for name in fresh_pool}
    for name in of_classes & wanted.keys():
        rows = fresh[name].clone()
        if name in state:
            for i, j in kept.items():
                rows[i] = state[name][j]
        found[name] = rows
    if names != old_names and names:
        kind = f"{len(kept)} rows kept by their names, {len(names) - len(kept)} new" if kept else "new"
        say(f"classes: {old.classes} to {len(names)}, head {kind}")
    elif names != old_names:
        say(f"classes: the head of {old.classes} left out")
    return found


def _per_class(blueprint: Blueprint) -> set[str]:
    """Names of the weights with a row for each class."""
    with torch.device("meta"):
        shapes = [
            {name: tensor.shape for name, tensor in blueprint.change(classes=count).build().state_dict().items()}
            for count in (2, 3)
        ]
    return {name for name, shape in shapes[0].items() if shape != shapes[1][name]}


def _check(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor], old: Blueprint) -> None:
    if strange := sorted(state.keys() ^ wanted.keys()):
        raise UserError(f"the weights of {old.name} are not those of the model wanted: they differ in {some(strange)}")
    for name, like in wanted.items():
        if state[name].shape != like.shape:
            raise UserError(
                f"the weights of {old.name} cannot be made to fit: {name} is {list(state[name].shape)}, "
                f"the model wants {list(like.shape)}"
            )


def _preprocess(old: Preprocess, target: Blueprint) -> Preprocess:
    data = old.model_dump() | {
        "size": target.image,
        "channels": target.channels,
        "mean": of_channels(old.mean, target.channels),
        "std": of_channels(old.std, target.channels),
    }
    return Preprocess.model_validate(data)


def _kind(blueprint: Blueprint) -> str:
    return str(blueprint.model_dump().get("pool", {}).get("kind"))


def _by(pair: tuple[int, int]) -> str:
    return f"{pair[0]}x{pair[1]}"
