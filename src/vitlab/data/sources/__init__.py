"""Where images come from: one file a kind of source, and `open_source`, which knows them by what a person types."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.data.sources import named, rows
from vitlab.data.sources.layout import layout
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.data.sources.source import Source

NAMED = ("digits", *named.NAMES)


def open_source(data: str, root: str | Path | None = None, fetch: bool = False) -> "Source":
    """The data that a name (`digits`, `cifar10`), the path of a folder or the path of a list stands for.

    The files of a named data set lie below `root`, and are brought there from the published address if `fetch` is set.
    """
    check_source(data, root, fetch)
    if data == "digits":
        from vitlab.data.sources.digits import digits

        return digits()
    if data in named.NAMES:
        return named.open_named(data, _below(root), fetch)
    if _is_list(data):
        from vitlab.data.sources.table import table

        return table(Path(data))
    from vitlab.data.sources.folder import folder

    return folder(Path(data))


def check_source(data: str, root: str | Path | None = None, fetch: bool = False) -> None:
    """Refuse at once, with nothing heavy imported, what cannot be data."""
    path = Path(data)
    if data in named.NAMES:
        named.check_named(data, _below(root), fetch)
    if data in NAMED:
        return
    if not path.exists():
        close = difflib.get_close_matches(data.lower(), NAMED, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"give a folder, or one of the names {', '.join(NAMED)}"
        raise UserError(f"no data {data!r}: there is no such folder; {hint}")
    if root is not None or fetch:
        raise UserError(
            f"--root and --fetch are for data sets known by name ({', '.join(named.NAMES)}); {data} is a path: "
            "leave them out"
        )
    if _is_list(data):
        rows.check_list(path)
        return
    if not path.is_dir():
        raise UserError(
            f"{data} is a file; give the folder with one folder of images for each class, or a list of images "
            f"({' or '.join(rows.SUFFIXES)})"
        )
    layout(path)


def _below(root: str | Path | None) -> Path:
    return named.default_root() if root is None else Path(root)


def _is_list(data: str) -> bool:
    return Path(data).suffix.lower() in rows.SUFFIXES and Path(data).is_file()
