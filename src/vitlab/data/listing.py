"""What lies in a folder, looked at without opening an image: folders and image files, in an order that never varies.

Names that begin with a dot are left out: thumbnails, checkpoints of notebooks, what a file manager leaves behind.
"""

import os
from pathlib import Path
from typing import Any, NoReturn

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


def images_at(path: Path) -> list[Path]:
    """A file as it is, or the image files in a folder."""
    if not path.exists():
        raise UserError(f"no such image or folder: {path}")
    return files_below(path) if path.is_dir() else [path]


def is_one(images: Any) -> bool:
    """Whether these are one image (a path, a PIL image, an array of rows and columns) and not several."""
    return isinstance(images, str | Path) or hasattr(images, "mode") or (hasattr(images, "dtype") and images.ndim < 4)


def _is_image(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES and not _hidden(name)


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _refuse(error: OSError, top: Path) -> NoReturn:
    raise UserError(f"cannot read the folder {error.filename or top}: {error.strerror or error}") from None
