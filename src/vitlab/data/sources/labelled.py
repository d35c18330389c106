"""Splits of pictures with labels as they stand in the data (numbers of named classes, words, numbers) as a `Source`.

The same rules for tables, saved data sets and shards: classes by their names in order, or sorted; every class of
another split has to be learned from `train`; a split without labels is passed over and said.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vitlab.data.decode import Picture, decode_bytes
from vitlab.data.sources.columns import LONGEST_NAME
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

Label = int | str | None
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_UNKNOWN = (None, -1, "", "-1")


@dataclass(frozen=True)
class Pictures:
    """A split before its classes are known: keys, labels, and how to get the name and the bytes at a position."""

    keys: Sequence[str]
    labels: Sequence[Label]
    content: Callable[[int], tuple[str, bytes]]
    parts: Sequence[int]


def labelled(
    name: str, splits: Mapping[str, Pictures], names: tuple[str, ...] | None, said: Sequence[str] = ()
) -> Source:
    """The source; `names` are the classes in the order of their numbers, where the data know them."""
    told = list(said)
    known: dict[str, Pictures] = {}
    for split, found in splits.items():
        if split != "train" and found.labels and all(label in _UNKNOWN for label in found.labels):
            told.append(f"{split} has no labels and is passed over")
        elif found.labels:
            known[split] = found
    if "train" not in known:
        raise UserError(f"{name} has nothing of the split train; there {_are(splits)}")
    if names is None:
        names = _classes(name, known)
        number: Mapping[Label, int] = {label: i for i, label in enumerate(names)}
    else:
        number = {**{label: i for i, label in enumerate(names)}, **{i: i for i in range(len(names))}}
    numbered = {split: _numbers(name, split, found, number) for split, found in known.items()}
    _check_learned(name, names, numbered, told)
    ordered = [split for split in ("train", "val", "test") if split in known]
    return Source(name, names, {split: _samples(known[split], numbered[split]) for split in ordered}, said=tuple(told))


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Names of classes sorted: as numbers if all of them are."""
    if all(_WHOLE.fullmatch(label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels))


def _classes(name: str, splits: Mapping[str, Pictures]) -> tuple[str, ...]:
    found = {str(label).strip() for one in splits.values() for label in one.labels if label is not None}
    for label in found:
        if not label or not label.isprintable() or len(label) > LONGEST_NAME:
            raise UserError(f"{name} has the label {label[:60]!r}; it wants a word or a whole number")
    return in_order(found)


def _numbers(name: str, split: str, found: Pictures, number: Mapping[Label, int]) -> tuple[int, ...]:
    numbers = []
    for key, label in zip(found.keys, found.labels, strict=True):
        place = number.get(label.strip() if isinstance(label, str) else label)
        if place is None and isinstance(label, int):
            place = number.get(str(label))
        if place is None:
            there = f"there are {len(set(number.values())):,} classes, counted from 0"
            what = "has no label" if label in _UNKNOWN else f"has the label {str(label)[:60]!r}; {there}"
            raise UserError(f"{key[:200]} in {split} of {name} {what}; mend or leave out what has no class")
        numbers.append(place)
    return tuple(numbers)


def _check_learned(name: str, names: Sequence[str], numbered: Mapping[str, Sequence[int]], told: list[str]) -> None:
    learned = set(numbered["train"])
    used = learned.union(*numbered.values())
    if len(used) < 2:
        only = f"only the label {names[min(used)]!r}"
        raise UserError(f"{name} has {only}; a classifier wants at least two")
    if unseen := sorted(used - learned):
        raise UserError(
            f"{name} has no image of {names[unseen[0]]!r} in train, which could never be learned; "
            "add some, or take away those of the other splits"
        )
    if idle := [one for i, one in enumerate(names) if i not in used]:
        more = f" and {len(idle) - 3:,} more" if len(idle) > 3 else ""
        told.append(f"of its {len(names):,} classes these have no image: {', '.join(idle[:3])}{more}")


def _samples(found: Pictures, labels: tuple[int, ...]) -> Samples:
    content = found.content
    return Samples(tuple(found.keys), labels, lambda i: _read(content, i), content, tuple(found.parts))


def _read(content: Callable[[int], tuple[str, bytes]], i: int) -> Picture:
    name, held = content(i)
    return decode_bytes(held, name)


def _are(splits: Mapping[str, object]) -> str:
    return f"are {', '.join(splits)}" if len(splits) > 1 else f"is {next(iter(splits), 'nothing')}"
