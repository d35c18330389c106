"""What every part's description has in common: frozen data that knows its `kind` and can build its module.

A *slot* is a place in a transformer (the patch embedding, the pool, ...): an abstract description. A *part* fills a
slot: a concrete description, known by its `kind` from the moment its class is defined. A field declared with a slot
takes the part itself, its data (`{"kind": "conv", "size": 16}`) or, for a part without required fields, its kind:

    class Pool(Part, slot=True): ...
    class Mean(Pool):
        kind: Literal["mean"] = "mean"

    Pool.model_validate("mean") == Pool.model_validate({"kind": "mean"}) == Mean()

Someone else's part works the same way: defining it is registering it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, model_validator

from vitlab.errors import UserError, nearest


@dataclass(frozen=True)
class Site:
    """Where a part is built: the sizes that the model around it decides."""

    width: int
    grid: tuple[int, int]
    prefix: int = 0  # tokens before the patches: class, distillation, registers
    dropout: float = 0.0
    layer: int = 0  # which block, from 0
    drop_path: float = 0.0

    @property
    def length(self) -> int:
        """Number of tokens the blocks see."""
        return self.prefix + self.grid[0] * self.grid[1]


class Part(BaseModel):
    """A frozen description; equal descriptions build equal modules."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, polymorphic_serialization=True)

    kinds: ClassVar[dict[str, type["Part"]]]
    is_slot: ClassVar[bool] = False

    def __init_subclass__(cls, slot: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.is_slot = slot
        if slot:
            cls.kinds = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        if not cls.is_slot and (kind := get_args(cls.__annotations__.get("kind"))):
            cls.kinds[kind[0]] = cls

    @model_validator(mode="wrap")
    @classmethod
    def _fill_slot(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """For a slot: find the part by its kind. For a part: validate as usual."""
        if not cls.is_slot or isinstance(data, Part):
            return handler(data)
        data = {"kind": data} if isinstance(data, str) else data
        if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
            raise UserError(f"wants a kind, one of {', '.join(cls.kinds)}")
        if (part := cls.kinds.get(data["kind"])) is None:
            raise UserError(f"no {cls.__name__.lower()} of kind {data['kind']!r}{nearest(data['kind'], cls.kinds)}")
        return part.model_validate(data)  # type: ignore[return-value]
