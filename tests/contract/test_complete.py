"""No part is forgotten: every kind of every slot, and every choice of a part, is in some case of the contract."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from vitlab.parts.part import Part

from .cases import CASES


def _inside(value: Any) -> Iterator[Part]:
    """Every part of a description, itself included."""
    if isinstance(value, Part):
        yield value
        for field in type(value).model_fields:
            yield from _inside(getattr(value, field))
    elif isinstance(value, tuple):
        for each in value:
            yield from _inside(each)


def _slots(cls: type[Part] = Part) -> Iterator[type[Part]]:
    for below in cls.__subclasses__():
        if below.is_slot:
            yield below
        yield from _slots(below)


USED = [part for case in CASES.values() for part in _inside(case)]
# Steps of variation and optimizers are parts too, of recipes: a model has none of them.
KNOWN = {part for slot in _slots() for part in slot.kinds.values() if part.__module__.startswith("vitlab.parts.")}


def test_every_kind_of_every_slot_is_in_a_case():
    assert len(KNOWN) > 30
    assert sorted(part.__name__ for part in KNOWN - {type(part) for part in USED}) == []


def test_every_choice_of_a_part_is_in_a_case():
    """What a field chooses by a word, beyond the kind (`combine`, `activation`, ...)."""
    missing = []
    for part in KNOWN:
        for name, field in part.model_fields.items():
            if get_origin(field.annotation) is Literal:
                taken = {getattr(used, name) for used in USED if isinstance(used, part)}
                # a field that a slot declares is the same in all its parts
                owner = next(base for base in reversed(part.__mro__) if name in getattr(base, "model_fields", {}))
                taken |= {getattr(used, name) for used in USED if isinstance(used, owner)}
                missing += [
                    f"{part.__name__}.{name}={value}" for value in get_args(field.annotation) if value not in taken
                ]
    assert missing == []
