"""A JSON file read into one of our dataclasses, or one sentence about what is wrong with it.

A missing file is no mistake here: a run that is still training has no evaluation and no bundle yet. Fields
nobody asked for are ignored, so that an older report reads a newer run.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from vitlab.errors import UserError

T = TypeVar("T")


def read_json(path: Path, kind: type[T], what: str) -> T | None:
    """The file as a `kind`, None when there is no file; `what` names it in the sentence about a wrong one."""
    if not path.is_file():
        return None
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except ValidationError as problem:
        raise UserError(f"{path} is not {what}: {first_problem(problem)}") from None


def check(found: object, kind: type[T], what: str) -> T:
    """The same check for something already read, such as a YAML file."""
    try:
        return TypeAdapter(kind).validate_python(found)
    except ValidationError as problem:
        raise UserError(f"{what}: {first_problem(problem)}") from None


def first_problem(problem: ValidationError) -> str:
    """The first complaint of pydantic as the end of a sentence."""
    error = problem.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in error["loc"])
    said = error["msg"][:1].lower() + error["msg"][1:]
    return f"`{where}`: {said}" if where else said
