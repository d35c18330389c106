"""What lies in a folder, looked at without opening an image: folders and image files, in an order that never varies.

Names that begin with a dot are left out: thumbnails, checkpoints of notebooks, what a file manager leaves behind.
"""

import os
from pathlib import Path
from typing import NoReturn

from vitlab.errors import UserError

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}


def folders_in(top: Path) -> list[Path]:
    """The folders right below `top`, sorted by name."""
    try:
        with os.scandir(top) as entries:
            return sorted(Path(entry) for entry in entries if entry.is_dir() and not _hidden(entry.name))
    except OSError as error:
        _refuse(error, top)


def files_below(top: Path) -> list[Path]:
    """The image files in a folder and in the folders below it, by their suffix, sorted; none is skipped in silence."""
    found: list[Path] = []
    for folder, inner, files in os.walk(top, onerror=lambda error: _refuse(error, top)):
        inner[:] = [name for name in inner if not _hidden(name)]
        found += [Path(folder, name) for name in files if _is_image(name)]
    return sorted(found)


def _is_image(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES and not _hidden(name)


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _refuse(error: OSError, top: Path) -> NoReturn:
    raise UserError(f"cannot read the folder {error.filename or top}: {error.strerror or error}") from None
