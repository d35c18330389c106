"""A model described: which parts, which sizes. Frozen data, to and from JSON, changed in one expression."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from jaxtyping import Float
from pydantic import BeforeValidator, Field, ValidationError
from torch import Tensor, nn

from vitlab import notebook
from vitlab.errors import UserError, explain_invalid, nearest
from vitlab.parts.part import Part
from vitlab.parts.patch import as_pair

Pair = tuple[int, int]
Side = Annotated[int, Field(ge=1, le=65_536)]


class Features(NamedTuple):
    """What a model knows of an image before its head."""

    tokens: Float[Tensor, "B N D"]
    grid: Pair
    pooled: Float[Tensor, "B D"]


class Layers(NamedTuple):
    """A model's modules in the order in which an image passes them; together they hold every weight once."""

    stem: tuple[nn.Module, ...]  # what makes of pixels what the blocks take
    blocks: tuple[nn.Module, ...]
    last: tuple[nn.Module, ...]  # between the last block and the head
    head: tuple[nn.Module, ...]


class Model(nn.Module):
    """A module built from a blueprint: logits for (B, channels, X, Y), and the features behind them."""

    blueprint: "Blueprint"

    @abstractmethod
    def features(self, images: Float[Tensor, "B channels X Y"]) -> Features: ...

    @abstractmethod
    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B classes"]: ...

    @property
    @abstractmethod
    def layers(self) -> Layers:
        """What is frozen first and learns slowest, up to what learns fastest, where a model is fine-tuned."""

    def answers(self, images: Float[Tensor, "B channels X Y"]) -> tuple[Tensor, ...]:
        """The logits of each head, where a model has several that are taught apart; else the logits."""
        return (self(images),)


class Blueprint(Part, slot=True):
    """What every model's description has: what goes in and what comes out. Its `kind` names the assembly."""

    regularisers: ClassVar[tuple[str, ...]] = ()  # fields that a recipe may set: they change training alone

    name: str = "custom"
    image: Annotated[tuple[Side, Side], BeforeValidator(as_pair)] = (224, 224)
    channels: int = Field(default=3, ge=1, le=4_096)
    classes: int = Field(default=1000, ge=0, le=10_000_000)

    @abstractmethod
    def build(self) -> Model:
        """The module this describes, with fresh first values from torch's global generator."""

    def _repr_html_(self) -> str:
        return notebook.table(self.name, [(name, str(getattr(self, name))) for name in type(self).model_fields])

    def change(self, **changes: Any) -> Self:
        """The same model with other parts or sizes, checked anew; double underscores reach inside a part.

        blueprint.change(pool="mean", position={"kind": "sincos"}, block__attention__core=Performer(features=32))
        """
        data = self.model_dump(mode="json")
        for path, value in changes.items():
            _put(data, path.split("__"), value.model_dump() if isinstance(value, Part) else value, self.name)
        return type(self).read(data, self.name)

    @classmethod
    def read(cls, data: Mapping[str, Any] | str | bytes, what: str = "blueprint") -> Self:
        """A blueprint from its data or JSON; a wrong one gets one sentence naming the field."""
        try:
            if isinstance(data, str | bytes):
                return cls.model_validate_json(data)
            return cls.model_validate(data)
        except ValidationError as error:
            raise explain_invalid(error, what) from None


def _put(data: dict[str, Any], path: list[str], value: Any, what: str) -> None:
    """Set one entry of nested data; the way there must exist. A part given by its kind keeps no old settings.

    A number counts the entries of a list from 0: `block__blocks__1__attention__heads`.
    """
    here: Any = data
    for place, step in enumerate(path):
        inside = {str(i): entry for i, entry in enumerate(here)} if isinstance(here, list) else here
        if not isinstance(inside, dict):
            raise UserError(f"{what}: {path[place - 1]!r} is a value, with no {step!r} inside to change")
        if step not in inside:
            raise UserError(f"{what}: no {step!r} to change{nearest(step, inside)}")
        if place < len(path) - 1:
            here = inside[step]
    here[int(path[-1]) if isinstance(here, list) else path[-1]] = value
