"""What kind of data a person means, by what they typed and by names of files: nothing is opened, nothing imported."""

import os
from pathlib import Path
from typing import Literal

from vitlab.data.listing import SUFFIXES
from vitlab.data.sources import named
from vitlab.data.sources.layout import packed
from vitlab.data.sources.pattern import is_pattern
from vitlab.data.sources.repository import HUB

Kind = Literal["digits", "named", "hub", "list", "parquet", "saved", "shards", "folder"]
_SAVED = ("dataset_dict.json", "state.json")


def kind_of(data: str) -> Kind | None:
    """The kind, or None where there is nothing of that name."""
    path = Path(data)
    if data == "digits":
        return "digits"
    if data in named.NAMES:
        return "named"
    if data.startswith(HUB):
        return "hub"
    if path.is_dir():
        return _of_folder(path)
    if not path.exists():
        return "shards" if data.lower().endswith(".tar") and is_pattern(data) else None
    suffix = path.suffix.lower()
    return {".csv": "list", ".parquet": "parquet", ".tar": "shards"}.get(suffix)  # type: ignore[return-value]


def _of_folder(path: Path) -> Kind:
    if any((path / name).is_file() for name in _SAVED):
        return "saved"
    if _has_images(path):  # first: among class folders one is soon found, while all files may be a million
        return "folder"
    for suffix, kind in ((".tar", "shards"), (".parquet", "parquet")):
        if packed(path, suffix):
            return kind  # type: ignore[return-value]
    return "folder"


def _has_images(path: Path) -> bool:
    """Whether an image file lies somewhere in the first three levels: then these are class folders."""
    for folder, inner, files in os.walk(path):
        inner[:] = [] if len(Path(folder).relative_to(path).parts) == 2 else inner
        if any(Path(name).suffix.lower() in SUFFIXES for name in files):
            return True
    return False
