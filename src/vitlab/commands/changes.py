"""Flags that take words: `--change pool=mean patch={"size":4}`, `--entry optimizer=muon decay=linear`."""

import json
from collections.abc import Sequence
from typing import Any

from vitlab.errors import UserError


def parse_changes(words: Sequence[str]) -> dict[str, Any]:
    """Parts of a model to change, as `Blueprint.change` takes them: a dot reaches inside a part."""
    return {
        path.replace(".", "__"): value for path, value in _pairs(words, "--change wants PART=VALUE, such as pool=mean")
    }


def parse_entries(words: Sequence[str]) -> dict[str, Any]:
    """Entries of a recipe to change."""
    return dict(_pairs(words, "--entry wants ENTRY=VALUE, such as optimizer=muon"))


def parse_freeze(word: str | int | None) -> int | str | None:
    """A number of blocks, or `all`."""
    if word is None or word == "all":
        return word
    if not str(word).isdecimal():
        raise UserError(f"--freeze wants a number of blocks, or all, not {word!r}")
    return int(word)


def _pairs(words: Sequence[str], wants: str) -> list[tuple[str, Any]]:
    """Names and values. A value is JSON where it reads as JSON, and otherwise a word."""
    pairs: list[tuple[str, Any]] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UserError(f"{wants}, not {word!r}")
        try:
            pairs.append((name, json.loads(value)))
        except ValueError:
            pairs.append((name, value))
    return pairs
