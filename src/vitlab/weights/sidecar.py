"""A bundle's card beside weights written for another library, so that nothing is lost on the way back.

`vitlab.json` holds the card and the digest of the files that it was written with: once anyone changes one of them, the
card speaks of other weights and is not heeded.
"""

import hashlib
from pathlib import Path
from typing import Any

from vitlab.bundle import Card
from vitlab.errors import UserError
from vitlab.strangers import read_json

FILE = "vitlab.json"
_FILES = ("config.json", "preprocessor_config.json", "model.safetensors")


def sidecar(folder: Path, card: Card) -> dict[str, Any]:
    """What to write beside the files in `folder`."""
    return {"digest": _digest(folder), "card": card.model_dump(mode="json")}


def read_sidecar(folder: Path) -> Card | None:
    """The card of a folder that is as it was written; None where there is none, or something was changed."""
    path = folder / FILE
    if not path.is_file():
        return None
    data = read_json(path, "card of vitlab's", "delete it, or convert again")
    if not isinstance(data, dict) or data.get("digest") != _digest(folder):
        return None
    try:
        return Card.model_validate(data.get("card"))
    except (ValueError, UserError):
        return None


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for name in _FILES:
        if (folder / name).is_file():
            with (folder / name).open("rb") as handle:
                found.update(f"{name}:".encode() + hashlib.file_digest(handle, "sha256").digest())
    return found.hexdigest()
