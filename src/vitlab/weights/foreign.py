"""Another library's checkpoint as a bundle: every tensor accounted for before any of them is read."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from torch import Tensor

from vitlab.bundle import Bundle, Card, assemble, check_memory, sketch
from vitlab.errors import UserError, explain_invalid
from vitlab.models.plain import Plain
from vitlab.strangers import plain, read_json, sensible, some
from vitlab.weights.fit import Wanted, fit
from vitlab.weights.libraries.described import Described
from vitlab.weights.libraries.known import OF_FILES, OF_FOLDERS
from vitlab.weights.maps.links import to_ours, to_theirs
from vitlab.weights.reading.open_file import open_file, open_folder
from vitlab.weights.say import Say
from vitlab.weights.sidecar import read_sidecar

CONFIG = "config.json"


def open_foreign_file(path: Path, like: Plain | None, source: str, say: Say) -> Bundle:
    """A bare file of weights; `like` says what it is a model of, where shapes do not."""
    checkpoint = open_file(path).unwrapped()
    for library in OF_FILES:
        if library.recognise(checkpoint.names):
            with sensible(path):
                return _bundle(library.describe(checkpoint, like), source, say)
    raise UserError(
        f"{path} holds {some(sorted(map(plain, checkpoint.names)))}: no model that is known here; "
        "known are ViT, DeiT, DINOv2, MAE and ResNet of timm, transformers, torchvision and the original files"
    )


def open_foreign_folder(
    folder: Path, source: str, say: Say, labels: Callable[[int], tuple[str, ...]] = lambda _: ()
) -> Bundle:
    """A folder in which a library has put its configuration beside the weights.

    `labels` names so many classes, where the folder does not.
    """
    where = folder / CONFIG
    config: Mapping[str, Any] = read_json(where, "configuration of a model", "download or copy it again")
    if isinstance(config, dict):
        for library in OF_FOLDERS:
            if library.owns(config):
                with sensible(where), _naming(folder):
                    found = library.describe(open_folder(folder).unwrapped(), config, str(where))
                    if not found.classes:
                        found = replace(found, classes=labels(found.blueprint.classes))
                    return _bundle(found, source, say, read_sidecar(folder))
    raise UserError(f"{where} is no configuration of timm's or transformers'")


@contextlib.contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """A mistake in a configuration says whose configuration it is."""
    try:
        yield
    except UserError as error:
        told = str(error)
        raise UserError(told if str(folder) in told else f"{folder / CONFIG}: {told}") from None


def _bundle(described: Described, source: str, say: Say, known: Card | None = None) -> Bundle:
    where = described.checkpoint.path
    if known is not None:
        return _read(described, known, say)
    blueprint, wanted = described.blueprint, described.preprocess
    classes = named(described.classes, blueprint.classes, say)
    preprocess = wanted.model_copy(update={"size": blueprint.image})
    try:
        card = Card(blueprint=blueprint, preprocess=preprocess, classes=classes, data={"weights": source})
    except ValidationError as error:
        raise explain_invalid(error, str(where)) from None
    # Positions may be of larger images than the model is shown (DINOv2): resampled once, here.
    return fit(_read(described, card, say), Wanted(size=wanted.size), say)


def _read(described: Described, card: Card, say: Say) -> Bundle:
    """The weights, once every one of them is accounted for."""
    where = described.checkpoint.path
    empty = sketch(card, where)
    wanted = to_theirs(described.links, empty.state_dict())
    _check(described, wanted, say)
    for sentence in described.said:
        say(sentence)
    check_memory(empty, where)
    theirs = described.checkpoint.read(wanted)
    return assemble(card, to_ours(described.links, theirs), empty, where)


def _check(described: Described, wanted: Mapping[str, Tensor], say: Say) -> None:
    """Refuse missing, leftover and misshapen tensors, naming them; say which known ones are left out."""
    checkpoint, library = described.checkpoint, described.library
    unused: dict[str, list[str]] = {}
    leftover = []
    for name in sorted(checkpoint.names - wanted.keys()):
        what = next((what for pattern, what in described.unused if re.fullmatch(pattern, name)), None)
        unused.setdefault(what, []).append(name) if what else leftover.append(plain(name))
    missing = sorted(wanted.keys() - checkpoint.names)
    if missing or leftover:
        told = [f"lacks {some(missing)}"] if missing else []
        told += [f"has {some(leftover)} too many"] if leftover else []
        raise UserError(f"{checkpoint.path} {' and '.join(told)} for {described.blueprint.name}, by {library}'s names")
    for name, like in wanted.items():
        if checkpoint.shapes[name] != tuple(like.shape):
            raise UserError(
                f"{checkpoint.path}: {name} is {list(checkpoint.shapes[name])}, "
                f"{described.blueprint.name} wants {list(like.shape)}"
            )
    for what, names in unused.items():
        say(f"left out: {what} ({len(names)} tensor{'s' if len(names) > 1 else ''}), of no use to a classifier")


def named(classes: tuple[str, ...], count: int, say: Say) -> tuple[str, ...]:
    """Names that differ: the numbers where there are none, and a number behind one that stands there twice."""
    if not classes:
        if count:
            say(f"the checkpoint does not name its {count} classes: they are called by their numbers, from 0")
        return tuple(map(str, range(count)))
    twice = {name for name, times in Counter(classes).items() if times > 1}
    if twice:
        say(f"classes of the same name get their number behind it: {some(sorted(map(plain, twice)))}")
    return tuple(f"{name} ({i})" if name in twice else name for i, name in enumerate(classes))
