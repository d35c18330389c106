"""vitlab check: what is wrong with data, before a training finds out."""

from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.commands.flags import Data, MaybePath, Switch
from vitlab.commands.spell import spell
from vitlab.data.sources import check_source
from vitlab.data.sources.kind import kind_of
from vitlab.errors import UserError
from vitlab.files import check_writable

if TYPE_CHECKING:
    from vitlab.data.checks.outcome import Checked


def check(
    data: Data,
    /,
    *,
    quarantine: MaybePath = None,
    page: MaybePath = None,
    root: MaybePath = None,
    strict: Switch = False,
) -> "Checked":
    """Decode every image and say what is broken, odd, twice there or in two splits.

    Findings are no failure: the exit code is 0 unless `--strict` is given.

    Args:
        data: What `vitlab train` takes: a folder of class folders, a list of images, images in Parquet files or tar
            shards, a data set by name or of the hub (hf:NAME).
        quarantine: Write the files to leave out to this list: undecodable ones, and the copy in `train` of a picture
            that another split has too (without a split of its own for test or val, copies within a class as well).
            Pictures with two labels are for you to decide.
        page: Write a page with pictures to this file.
        root: The folder that holds the named data sets.
        strict: End with exit code 1 if there are errors.
    """
    data = str(data)
    command = spell(check, locals())
    is_folder = kind_of(data) == "folder"  # what training would refuse of one is a finding
    if root is not None or not is_folder:
        check_source(data, root)
    for file in (quarantine, page):
        if file is not None:
            _check_file(Path(file))

    from dataclasses import replace

    from vitlab.data.checks import everything
    from vitlab.data.checks.progress import progress

    with progress() as tick:
        if is_folder:
            found, picture = everything.check_folder(Path(data), tick)
        else:
            found, picture = everything.check_source(data, None if root is None else Path(root), tick)
    written = []
    if quarantine is not None:
        from vitlab.data.quarantine import write_quarantine

        write_quarantine(Path(quarantine), found.leave_out, command)
        written.append(f"{len(found.leave_out):,} to leave out are listed in {quarantine}")
    if page is not None:
        from vitlab.report import check_page

        check_page.write(Path(page), found, picture, command)
        written.append(f"the page is {page}")
    return replace(found, strict=strict, written=tuple(written))


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    check_writable(path.parent)
