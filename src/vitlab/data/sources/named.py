"""Data sets known by name: found below a root folder, or fetched into it when asked; nothing heavy is imported to look.

The root is what the caller says, else $VITLAB_DATA, else the folder `data` in the working directory.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vitlab.data.sources.published import CIFAR_SETS, IDX_SETS, CifarSet, Download, IdxSet
from vitlab.errors import UserError
from vitlab.files import check_writable

if TYPE_CHECKING:
    from vitlab.data.sources.source import Source

NAMES = (*IDX_SETS, *CIFAR_SETS)


def default_root() -> Path:
    return Path(os.environ.get("VITLAB_DATA") or "data")


def check_named(name: str, root: Path, fetch: bool) -> None:
    """Refuse a data set whose files are not there, unless they are to be fetched, and a root that cannot hold them."""
    if _there(name, root):
        return
    if not fetch:
        raise _absent(name, root)
    check_writable(root)


def open_named(name: str, root: Path, fetch: bool) -> "Source":
    """The data set of that name, fetched first when that is asked for and its files are not there."""
    check_named(name, root, fetch)
    if not _there(name, root):
        from vitlab.data.sources.fetch import fetch as get

        for download in _missing(name, root):
            get(download, root / download.path)
    if name in IDX_SETS:
        from vitlab.data.sources.idx import idx

        files = idx_files(IDX_SETS[name], root)
        assert files is not None
        return idx(IDX_SETS[name], files)
    from vitlab.data.sources.cifar import cifar

    place = cifar_place(CIFAR_SETS[name], root)
    assert place is not None
    return cifar(CIFAR_SETS[name], place)


def idx_files(which: IdxSet, root: Path) -> dict[str, Path] | None:
    """The four files by their published names, all from one folder: the first that has them all."""
    for folder in which.folders:
        found = {stem: path for stem in _stems(which) if (path := _idx_file(root / folder, stem))}
        if len(found) == len(_stems(which)):
            return found
    return None


def cifar_place(which: CifarSet, root: Path) -> Path | None:
    """The unpacked folder if it is whole, else the tarball."""
    for folder in (root / which.folder, root):
        if all((folder / name).is_file() for name in (*which.train, which.test, which.names)):
            return folder
    return archive if (archive := root / which.archive.name).is_file() else None


def _there(name: str, root: Path) -> bool:
    if name in IDX_SETS:
        return idx_files(IDX_SETS[name], root) is not None
    return cifar_place(CIFAR_SETS[name], root) is not None


def _stems(which: IdxSet) -> list[str]:
    return [download.name.removesuffix(".gz") for download in which.downloads]


def _idx_file(folder: Path, stem: str) -> Path | None:
    """`train-images-idx3-ubyte`, plain or compressed, also with the dot that some copies have in the name."""
    names = [base + end for base in (stem, stem.replace("-idx", ".idx")) for end in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _missing(name: str, root: Path) -> list[Download]:
    """What has to be fetched so that the data set is whole in its own folder."""
    if name in CIFAR_SETS:
        return [CIFAR_SETS[name].archive]
    which = IDX_SETS[name]
    folder = root / which.folders[0]
    return [one for one, stem in zip(which.downloads, _stems(which), strict=True) if not _idx_file(folder, stem)]


def _absent(name: str, root: Path) -> UserError:
    """Where the files were looked for, what was found instead, and how to get them."""
    missing = _missing(name, root)
    size = sum(one.size for one in missing) / 1e6
    host = urlsplit(missing[0].addresses[0]).hostname
    way = f"add --fetch to get {size:,.1f} MB from {host}, or say with --root (or $VITLAB_DATA) where the files are"
    way += f"; the folder here is ./{name}" if Path(name).is_dir() else ""
    if name in IDX_SETS:
        which = IDX_SETS[name]
        places = ", ".join(str(root / folder) for folder in which.folders)
        first = missing[0].name.removesuffix(".gz")
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return UserError(f"{name} was looked for in {places}: {first}[.gz]{more} not found; {way}")
    binary = CIFAR_SETS[name]
    for pickled in binary.pickled:
        if (root / pickled).exists():
            return UserError(
                f"{root / pickled} is the pickled version of {name}, which can run code when it is read; "
                f"take the binary version ({binary.archive.name}): {way}"
            )
    lacking = [one for one in (*binary.train, binary.test, binary.names) if not (root / binary.folder / one).is_file()]
    found = f" (it has no {lacking[0]})" if (root / binary.folder).is_dir() else ""
    return UserError(
        f"{name} was looked for in {root / binary.folder}{found} and {root / binary.archive.name}: not found; {way}"
    )
