"""What jaxtyping's import hook puts around the functions of vitlab: beartype, where annotations tell shapes.

Functions without a shape are left alone. Pydantic checks its descriptions itself, and some of its hints (validators'
handlers) are none that beartype knows.
"""

import inspect
from collections.abc import Callable
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with its arguments and result checked, if any of them has a shape."""
    return beartype(function) if any(map(_tells_shape, function.__annotations__.values())) else function


def _tells_shape(hint: Any) -> bool:
    return (inspect.isclass(hint) and issubclass(hint, AbstractArray)) or any(map(_tells_shape, get_args(hint)))
