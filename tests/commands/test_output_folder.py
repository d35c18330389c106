"""Where a run would go, refused before a second is spent on it."""

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Refused = Callable[..., str]


def test_a_file_where_the_folder_belongs(here: Path, refused: Refused) -> None:
    (here / "file").write_text("kept\n")
    assert refused("train", "digits", "--out", "file") == "file is a file; --out wants a folder"
    assert refused("train", "digits", "--out", "file/run") == (
        "cannot write file/run: file is a file; choose another folder"
    )
    assert refused("train", "digits", "--out", "file/a/b") == (
        "cannot write file/a/b: file is a file; choose another folder"
    )


@pytest.mark.parametrize("mark", ["config.yaml", "metrics.csv", "checkpoints", "bundle"])
def test_another_run_is_there(here: Path, refused: Refused, mark: str) -> None:
    (here / "old" / mark).mkdir(parents=True)
    assert refused("train", "digits", "--out", "old") == (
        "old holds another run; take another --out, or move that run away"
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a Linux folder that takes nothing, not even from root")
def test_a_folder_that_takes_no_files(refused: Refused) -> None:
    for folder in ("/proc/run", "/proc"):
        assert refused("train", "digits", "--out", folder) == (
            f"cannot write {folder}: no folder can be made there; choose a folder you may write to"
        )


@pytest.mark.parametrize(
    ("code", "rest"),
    [
        (errno.EROFS, "the file system is read-only; choose a folder you may write to"),
        (errno.EACCES, "permission denied; choose a folder you may write to"),
        (errno.ENOSPC, "the disk is full; free some space or choose another folder"),
        (errno.EDQUOT, "your quota is used up; free some space or choose another folder"),
    ],
)
@pytest.mark.parametrize("out", ["new/run", None])
def test_the_system_says_no(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, code: int, rest: str, out: str | None
) -> None:
    def refuse(*_: Any, **__: Any) -> str:
        raise OSError(code, "as the system calls it")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    asked = ["--out", out] if out else []
    assert refused("train", "digits", *asked) == f"cannot write {out or 'runs'}: {rest}"
