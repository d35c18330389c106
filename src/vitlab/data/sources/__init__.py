"""Where images come from: one file a kind of source, and `open_source`, which knows them by what a person types."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.data.sources import cells, kind, named, pattern, repository, rows
from vitlab.data.sources.layout import layout
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.data.sources.source import Source

NAMED = ("digits", *named.NAMES)


def open_source(data: str, root: str | Path | None = None, fetch: bool = False) -> "Source":
    """The data that a name (`digits`, `cifar10`, `hf:NAME`), a path or a pattern of shards stands for.

    The files of a named data set lie below `root`, and are brought there from the published address if `fetch` is set.
    """
    check_source(data, root, fetch)
    match kind.kind_of(data):
        case "digits":
            from vitlab.data.sources.digits import digits

            return digits()
        case "named":
            return named.open_named(data, _below(root), fetch)
        case "saved":
            from vitlab.data.sources.saved import saved

            return saved(Path(data))
        case "shards":
            from vitlab.data.sources.shards import shards

            return shards(data)
        case "hub":
            from vitlab.data.sources.hub import hub

            return hub(data)
        case "parquet" if _has_pictures(Path(data)):
            from vitlab.data.sources.parquet import parquet

            return parquet(Path(data))
        case "list" | "parquet":
            from vitlab.data.sources.table import table

            return table(Path(data))
        case _:
            from vitlab.data.sources.folder import folder

            return folder(Path(data))


def check_source(data: str, root: str | Path | None = None, fetch: bool = False) -> None:
    """Refuse at once, with nothing heavy imported, what cannot be data."""
    path, found = Path(data), kind.kind_of(data)
    if found == "named":
        named.check_named(data, _below(root), fetch)
    if found in ("digits", "named"):
        return
    if found is None and path.exists():
        ways = f"or a list of images ({' or '.join(rows.SUFFIXES)}), or shards (.tar, not compressed)"
        raise UserError(f"{data} is a file; give the folder with one folder of images for each class, {ways}")
    if found is None:
        close = difflib.get_close_matches(data.lower(), NAMED, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"give a folder, or one of the names {', '.join(NAMED)}"
        raise UserError(f"no data {data!r}: there is no such folder; {hint}")
    if root is not None or fetch:
        raise UserError(
            f"--root and --fetch are for data sets known by name ({', '.join(named.NAMES)}); {data} is a path: "
            "leave them out"
        )
    match found:
        case "hub":
            repository.check_repository(data)
        case "list" | "parquet" if path.is_file():
            rows.check_list(path)
        case "parquet" | "saved":
            cells.check_pyarrow(f"{data} holds tables")
        case "shards":
            pattern.find_shards(data)
        case "folder":
            layout(path)


def _below(root: str | Path | None) -> Path:
    return named.default_root() if root is None else Path(root)


def _has_pictures(path: Path) -> bool:
    """Whether a Parquet file holds pictures and not their paths; a folder of such files always does."""
    from vitlab.data.sources.columns import has_pictures
    from vitlab.data.sources.parquet import schema_of

    return path.is_dir() or has_pictures(schema_of(path))
