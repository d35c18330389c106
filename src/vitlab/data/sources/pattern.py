"""Which shards a person means: a tar file, a folder of them, or a pattern such as `pets-{0000..0099}.tar`, `*.tar`."""

import glob
import importlib
import importlib.util
import re
from itertools import islice
from pathlib import Path

from vitlab.data.sources.layout import by_split, packed
from vitlab.errors import UserError

MOST = 1_000_000  # files
_RANGE = re.compile(r"\{(-?[0-9]+)\.\.(-?[0-9]+)")
_BRACES = re.compile(r"\{.*\}")


def is_pattern(data: str) -> bool:
    return _BRACES.search(data) is not None or glob.has_magic(data)


def find_shards(data: str) -> tuple[Path, dict[str, list[Path]]]:
    """The folder that the shards' names are relative to, and the shards by split; nothing is opened."""
    place = Path(data)
    if place.is_dir():
        return place, by_split(place, packed(place, ".tar"))
    if place.exists() or not is_pattern(data):
        return place.parent, {"train": [place]}
    root, files = expanded(data)
    splits = by_split(root, files)
    return root, splits if len(splits) > 1 else {"train": files}


def expanded(pattern: str) -> tuple[Path, list[Path]]:
    """The folder that the pattern begins with, and its files, each of which is there."""
    found: dict[Path, None] = {}
    missing: list[str] = []
    for name in _braces(pattern):
        here = sorted(glob.glob(name)) if glob.has_magic(name) else [name]  # noqa: PTH207
        files = [Path(one) for one in here if Path(one).is_file()]
        found |= dict.fromkeys(files)
        missing += [] if files else [name]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise UserError(f"{pattern} stands for {missing[0]}{more}, which {'are' if more else 'is'} not there; mend it")
    return _beginning(pattern), list(found)


def _beginning(pattern: str) -> Path:
    """The folders before the first name that is not plain."""
    folders = Path(pattern).parent.parts
    plain = next((i for i, part in enumerate(folders) if set(part) & set("{}*?[")), len(folders))
    return Path(*folders[:plain])


def _braces(pattern: str) -> list[str]:
    if not _BRACES.search(pattern):
        return [pattern]
    if importlib.util.find_spec("braceexpand") is None:
        raise UserError(f"{pattern} has braces, for which braceexpand is missing; pip install 'vitlab[scale]'")
    if any(abs(int(last) - int(first)) >= MOST for first, last in _RANGE.findall(pattern)):
        raise UserError(f"{pattern} stands for more than {MOST:,} files; is that a slip?")
    try:
        names = list(islice(importlib.import_module("braceexpand").braceexpand(pattern), MOST + 1))
    except ValueError as error:  # braces that are not closed, or a range of letters that is none
        raise UserError(f"{pattern} is no pattern ({str(error).partition(':')[0].lower()}); close each brace") from None
    if len(names) > MOST:
        raise UserError(f"{pattern} stands for more than {MOST:,} files; is that a slip?")
    return names
