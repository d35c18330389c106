"""A call of a command as the line that a person would type for it."""

import inspect
import shlex
from collections.abc import Callable, Mapping
from typing import Any


def spell(command: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """`vitlab train digits --epochs 3`: positional arguments, then the flags that differ from their defaults."""
    words = ["vitlab", command.__name__]
    for name, parameter in inspect.signature(command).parameters.items():
        value = arguments[name]
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if parameter.kind is parameter.POSITIONAL_ONLY:
            words += [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        elif value == parameter.default:
            continue
        elif isinstance(value, bool):
            words.append(flag)
        else:
            words += [flag, *(str(each) for each in (value if isinstance(value, list | tuple) else [value]))]
    return shlex.join(words)


def given(command: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that differ from their defaults."""
    parameters = inspect.signature(command).parameters
    return {name: arguments[name] for name, one in parameters.items() if arguments[name] != one.default}
