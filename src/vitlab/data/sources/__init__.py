"""Where images come from: one file a kind of source, and `open_source`, which knows them by what a person types."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.data.sources.layout import layout
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.data.sources.source import Source

NAMED = ("digits",)


def open_source(data: str) -> "Source":
    """The data that a name (`digits`) or the path of a folder stands for."""
    check_source(data)
    if data == "digits":
        from vitlab.data.sources.digits import digits

        return digits()
    from vitlab.data.sources.folder import folder

    return folder(Path(data))


def check_source(data: str) -> None:
    """Refuse at once, with nothing heavy imported, what cannot be data."""
    path = Path(data)
    if data in NAMED:
        return
    if not path.exists():
        close = difflib.get_close_matches(data, NAMED, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"give a folder, or one of the names {', '.join(NAMED)}"
        raise UserError(f"no data {data!r}: there is no such folder; {hint}")
    if not path.is_dir():
        raise UserError(f"{data} is a file; give the folder with one folder of images for each class")
    layout(path)
