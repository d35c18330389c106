"""Which columns of a table hold pictures and labels, and the classes in order.

`datasets` writes what it knows into the schema: a column is an `Image`, another a `ClassLabel` with the names of its
classes in the order of their numbers. A table by others is taken by what its columns are called and hold.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vitlab.errors import UserError, nearest

_PICTURES = ("image", "img", "picture", "jpg", "png")
LABELS = ("label", "labels", "class", "target", "fine_label")
_LARGEST_SCHEMA = 1 << 26  # bytes of JSON
LONGEST_NAME = 200


@dataclass(frozen=True)
class Columns:
    """The column of pictures, that of labels, and the classes by number; None where labels are taken as they stand."""

    picture: str
    label: str
    names: tuple[str, ...] | None


def columns(schema: Any, what: str) -> Columns:
    """The columns of a pyarrow schema; a sentence when there is none to take, or no telling which."""
    features = _features(schema, what)
    pictures = [name for name in schema.names if _is_picture(schema.field(name).type)]
    marked = [name for name in pictures if _type(features, name) == "Image"] or pictures
    picture = _one_of(marked, _PICTURES)
    if picture is None:
        told = f"; there are {', '.join(schema.names)}" if len(str(schema.names)) < 200 else ""
        raise UserError(f"{what} has no column of pictures: bytes, or bytes with a path, as `datasets` writes it{told}")
    numbered = [name for name in schema.names if _type(features, name) == "ClassLabel"]
    plain = [name for name in LABELS if name in schema.names]
    label = next((name for name in LABELS if name in numbered), next(iter([*numbered, *plain]), None))
    if label is None:
        close = nearest("label", [name for name in schema.names if name != picture and len(name) < 40])
        raise UserError(f"{what} has no column of labels; it wants a ClassLabel, or a column called label{close}")
    if not _is_label(schema.field(label).type):
        kind = str(schema.field(label).type)[:60]
        raise UserError(f"{what} has {kind} in the column {label}, which wants words or whole numbers")
    return Columns(picture, label, _names(features[label], what) if label in numbered else None)


def has_pictures(schema: Any) -> bool:
    """Whether a table holds pictures itself, and not the names of files."""
    return "path" not in schema.names and any(_is_picture(kind) for kind in schema.types)


def _one_of(names: list[str], liked: Iterable[str]) -> str | None:
    return next((name for name in liked if name in names), names[0] if names else None)


def _features(schema: Any, what: str) -> dict[str, Any]:
    """What `datasets` has written of each column; nothing where it did not write the table."""
    held = (schema.metadata or {}).get(b"huggingface")
    if held is None:
        return {}
    try:
        if len(held) > _LARGEST_SCHEMA:
            raise ValueError
        features = json.loads(held)["info"]["features"]
        if not isinstance(features, dict):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{what} has a description of its columns that cannot be read; write it again") from None
    return features


def _type(features: dict[str, Any], name: str) -> str:
    found = features.get(name)
    return str(found.get("_type", "")) if isinstance(found, dict) else ""


def _names(feature: dict[str, Any], what: str) -> tuple[str, ...]:
    names = feature.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{what} does not name its classes; write it with a ClassLabel that has names")
    check_names(names, what)
    return tuple(names)


def check_names(names: Iterable[str], what: str) -> None:
    """Refuse names of classes that nobody could read or tell apart."""
    seen: set[str] = set()
    for name in names:
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            raise UserError(f"{what} calls a class {name[:60]!r}; a name wants letters, and at most {LONGEST_NAME}")
        if name in seen:
            raise UserError(f"{what} calls two classes {name!r}; each wants a name of its own")
        seen.add(name)


def _is_picture(kind: Any) -> bool:
    """`struct<bytes: binary, path: string>`, or bytes alone."""
    if str(kind) in ("binary", "large_binary"):
        return True
    return str(kind).startswith("struct<") and any(
        kind.field(i).name == "bytes" and str(kind.field(i).type) in ("binary", "large_binary")
        for i in range(kind.num_fields)
    )


def _is_label(kind: Any) -> bool:
    words = str(kind).removeprefix("dictionary<values=").partition(",")[0]
    return words in ("string", "large_string", "string_view", "null") or words.startswith(("int", "uint"))
