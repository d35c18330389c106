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


class Interrupted(KeyboardInterrupt):
    """A run that was asked to stop and did so in good order; the sentence says how to go on."""

    def __init__(self, sentence: str, exit_code: int = 130) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'a' or 'b'?` for a mistyped word; when nothing is near, what there is, if that is short."""
    names = list(known)
    if close := difflib.get_close_matches(word, names, n=3, cutoff=0.5):
        return f"; did you mean {' or '.join(repr(name) for name in close)}?"
    return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if 0 < len(names) <= 10 else ""


# What a field wants, by pydantic's type of complaint; what is not here is told in pydantic's words.
_WANTS = {
    "greater_than_equal": "wants at least {ge:g}",
    "greater_than": "wants more than {gt:g}",
    "less_than_equal": "wants at most {le:g}",
    "less_than": "wants less than {lt:g}",
    "finite_number": "wants a finite number",
    "literal_error": "wants {expected}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "wants a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "wants a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "wants true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "wants a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "wants named entries"),
    "string_type": "wants a word",
}
_LONGEST_INPUT = 60


def explain_invalid(error: "ValidationError", what: str, flags: Iterable[str] = ()) -> UserError:
    """The first complaint of a pydantic validation as a sentence that names the field.

    A field of `flags` was given on the command line and is called by its flag.
    """
    found = error.errors(include_url=False)
    first, kind = found[0], found[0]["type"]
    field = ".".join(str(step) for step in first["loc"])
    where = f"--{field.replace('_', '-')}" if field in flags else f"{what}: {field}" if field else what
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    if kind == "extra_forbidden":
        return UserError(f"{where}: no such field{more}")
    if kind == "missing":
        return UserError(f"{where} is missing{more}")
    if kind in _WANTS:
        given = repr(first["input"])
        given = given if len(given) <= _LONGEST_INPUT else f"{given[:_LONGEST_INPUT]}..."
        return UserError(f"{where} {_WANTS[kind].format(**first.get('ctx', {}))}, not {given}{more}")
    return UserError(f"{where}: {first['msg'].removeprefix('Value error, ')}{more}")
