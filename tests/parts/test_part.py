"""Slots, parts and kinds."""

from abc import abstractmethod
from typing import Literal

import pytest
from pydantic import ValidationError

from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Part, Site
from vitlab.parts.patch import Patch
from vitlab.parts.pool import Attend, Mean, Pool
from vitlab.parts.residual import Residual
from vitlab.parts.rotary import Relative


class Sauce(Part, slot=True):
    """A slot of the test's own, so that nothing is added to those of vitlab."""

    @abstractmethod
    def build(self) -> str: ...


class Tomato(Sauce):
    kind: Literal["tomato"] = "tomato"
    chillies: int = 0

    def build(self) -> str:
        return "red" * (1 + self.chillies)


class Dish(Part):
    sauce: Sauce = Tomato()


def test_a_part_is_known_by_its_kind_as_soon_as_it_is_defined():
    assert Sauce.kinds == {"tomato": Tomato}
    assert Sauce.model_validate("tomato") == Sauce.model_validate({"kind": "tomato"}) == Tomato()


@pytest.mark.parametrize("given", [Tomato(chillies=2), {"kind": "tomato", "chillies": 2}])
def test_a_field_takes_a_part_or_its_data(given):
    dish = Dish(sauce=given)
    assert dish.sauce.build() == "redredred"
    assert dish.model_dump() == {"sauce": {"kind": "tomato", "chillies": 2}}
    assert Dish.model_validate_json(dish.model_dump_json()) == dish


def test_slots_keep_their_kinds_apart():
    assert "tomato" not in Pool.kinds
    assert Pool.kinds["mean"] is Mean


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("tomatto", "no sauce of kind 'tomatto'; did you mean 'tomato'"),
        ({}, "wants a kind, one of tomato"),
        ({"kind": ["tomato"]}, "wants a kind, one of tomato"),
        (None, "wants a kind, one of tomato"),
        (3, "wants a kind, one of tomato"),
        (Layer(), "sauce"),
        ({"kind": "tomato", "garlic": 1}, "garlic"),
    ],
)
def test_what_is_no_part_of_the_slot_is_refused_by_name(given, complaint):
    with pytest.raises(ValidationError, match=complaint):
        Dish(sauce=given)


def test_descriptions_are_frozen_and_equal_by_value():
    assert Attend(heads=2) == Attend(heads=2) != Attend(heads=4)
    with pytest.raises(ValidationError, match="frozen"):
        Attend().heads = 2


def test_the_length_of_a_site_counts_prefix_and_patches():
    assert Site(width=8, grid=(3, 5), prefix=2).length == 17


@pytest.mark.parametrize(
    ("slot", "data"),
    [
        (Norm, {"kind": "layer", "eps": float("nan")}),
        (Norm, {"kind": "layer", "eps": -1.0}),
        (Relative, {"kind": "rotary", "base": 0.0}),
        (Patch, {"kind": "overlap", "padding": -1}),
        (Residual, {"kind": "scale", "start": float("inf")}),
    ],
)
def test_figures_that_make_no_module_are_refused_by_the_description(slot: type[Part], data: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=r"finite number|greater than"):
        slot.model_validate(data)
