"""Where images come from: one file a kind of source, and `open_source`, which knows them by what a person types."""

from pathlib import Path

from vitlab.data.sources.source import Source
from vitlab.errors import UserError, nearest

NAMED = ("digits",)


def open_source(data: str) -> Source:
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
        raise UserError(f"no data {data!r}: it is no folder, and no data of that name are known{nearest(data, NAMED)}")
    if not path.is_dir():
        raise UserError(f"{data} is a file; give the folder with one folder of images for each class")
