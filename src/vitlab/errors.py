"""What a person can cause: one clear sentence, never a traceback.

A `UserError` says what was wrong, where, and what to do. The command line prints it and ends with exit code 2.
"""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(ValueError):
    """A mistake of the person at the keyboard, told in one sentence.

    A ValueError, so that pydantic takes one raised by a validator for a complaint about the field.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'a' or 'b'?` for a mistyped word; when nothing is near, what there is, if that is short."""
    names = list(known)
    if close := difflib.get_close_matches(word, names, n=3, cutoff=0.5):
        return f"; did you mean {' or '.join(repr(name) for name in close)}?"
    return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if 0 < len(names) <= 10 else ""


def explain_invalid(error: "ValidationError", what: str) -> UserError:
    """The first complaint of a pydantic validation as a sentence that names the field."""
    first = error.errors()[0]
    field = ".".join(str(step) for step in first["loc"])
    count = len(error.errors()) - 1
    more = f" (and {count} more)" if count else ""
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "no such field"
    elif first["type"] == "missing":
        message = "is missing"
    elif not first["loc"]:
        return UserError(f"{what}: {message}{more}")
    else:
        message = f"{message[0].lower()}{message[1:]}" if message.startswith("Input") else message
        if first["type"] != "value_error" and not isinstance(first["input"], dict):
            message = f"{message}, got {first['input']!r}"
    return UserError(f"{what}: {field}: {message}{more}")
