"""Parts of a model changed on the command line: `pool=mean block.attention.core=performer patch={"size":4}`."""

import json
from collections.abc import Sequence
from typing import Any

from vitlab.errors import UserError


def parse_changes(words: Sequence[str]) -> dict[str, Any]:
    """What `Blueprint.change` takes. A value is JSON where it reads as JSON, and otherwise a word."""
    changes: dict[str, Any] = {}
    for word in words:
        path, equals, value = word.partition("=")
        if not equals or not path or not value:
            raise UserError(f"--change wants PART=VALUE, such as pool=mean, not {word!r}")
        try:
            changes[path.replace(".", "__")] = json.loads(value)
        except ValueError:
            changes[path.replace(".", "__")] = value
    return changes
