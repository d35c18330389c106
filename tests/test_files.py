"""Files come whole or not at all."""

import errno
import os
import threading
from pathlib import Path

import pytest

from vitlab.errors import UserError
from vitlab.files import check_writable, replacing, saying_why, write_text


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "first é\n")
    write_text(tmp_path / "a.txt", "second\n")
    assert (tmp_path / "a.txt").read_bytes() == b"second\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_others_may_read_it(tmp_path: Path) -> None:
    """The folder beside is for us alone; what comes out of it has the usual mode."""
    write_text(tmp_path / "ours", "")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_the_old_content_stays_when_writing_breaks_off(tmp_path: Path, error: BaseException) -> None:
    write_text(tmp_path / "a.txt", "old")

    def break_off() -> None:
        with replacing(tmp_path / "a.txt") as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(type(error)):
        break_off()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_reader_never_sees_half(tmp_path: Path) -> None:
    path, wrong, stop = tmp_path / "a.txt", [], threading.Event()
    contents = {"a" * 100_000, "b" * 150_000}
    write_text(path, min(contents))

    def look() -> None:
        while not stop.is_set():
            if path.read_text() not in contents:
                wrong.append(1)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(30):
        for content in contents:
            write_text(path, content)
    stop.set()
    reader.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.ENOSPC, "the disk is full; free some space or choose another folder"),
        (errno.EDQUOT, "your quota is used up; free some space or choose another folder"),
        (errno.EFBIG, "the limit on the size of a file is reached; raise it (ulimit -f) or choose another folder"),
        (errno.EACCES, "permission denied; choose a folder you may write to"),
        (errno.EROFS, "the file system is read-only; choose a folder you may write to"),
        (errno.EIO, "Input/output error; choose another folder"),
    ],
)
def test_what_the_system_says_with_the_way_out(code: int, sentence: str) -> None:
    with pytest.raises(UserError) as refusal, saying_why(Path("x/y")):
        raise OSError(code, os.strerror(code))
    assert str(refusal.value) == f"cannot write x/y: {sentence}"


def test_a_folder_is_tried_without_a_trace(tmp_path: Path) -> None:
    check_writable(tmp_path)
    check_writable(tmp_path / "new" / "and deeper")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*file/x: .*file is a file; choose another folder"):
        check_writable(tmp_path / "file" / "x")


def test_others_may_read_what_they_could_read_of_any_new_file(tmp_path: Path) -> None:
    """Tensors are written by a library that lets their owner alone read them."""
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "bundle") as beside:
        beside.mkdir()
        os.close(os.open(beside / "weights", os.O_CREAT | os.O_WRONLY, 0o600))
    assert (tmp_path / "bundle" / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode
