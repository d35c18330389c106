"""Data, runs and images that are not where, or not what, they should be."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import paint
from vitlab.data.sources import NAMED
from vitlab.data.sources.rows import SUFFIXES as LISTS

Refused = Callable[..., str]

SUFFIXES = ".bmp, .gif, .jpeg, .jpg, .pgm, .png, .ppm, .tif, .tiff, .webp"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "train nope",
            f"no data 'nope': there is no such folder; give a folder, or one of the names {', '.join(NAMED)}",
        ),
        ("train digit", "no data 'digit': there is no such folder; did you mean 'digits'?"),
        (
            "train file.txt",
            "file.txt is a file; give the folder with one folder of images for each class, or a list of images "
            f"({' or '.join(LISTS)}), or shards (.tar, not compressed)",
        ),
        (
            "train empty",
            "empty holds no class folders; a classifier wants at least two folders of images, one for each class",
        ),
        ("evaluate nope", "no run or bundle at nope"),
        (
            "evaluate empty",
            "empty holds no bundle: there is no model.json in it or in its folder bundle/; train a model first",
        ),
        ("evaluate file.txt", "file.txt is a file; give a run's folder or a bundle"),
        ("predict nope a.png", "no run or bundle at nope"),
        (
            "predict empty a.png",
            "empty holds no bundle: there is no model.json in it or in its folder bundle/; train a model first",
        ),
        ("explain nope", "no run or bundle at nope"),
        ("explain file.txt", "file.txt is a file; give a run's folder or a bundle"),
        (
            "explain theirs",
            "theirs is another library's folder; `vitlab convert theirs FOLDER` makes a bundle of it",
        ),
        ("convert empty empty", "empty is there already; name another folder, or move it away"),
        (
            "convert nope made",
            "no weights at nope: no such file or folder is there, and it is no name of the hub (timm:..., hf:...); "
            "`vitlab models --pretrained` lists names",
        ),
        (
            "convert empty file.txt/made",
            "cannot write file.txt: file.txt is a file; choose another folder",
        ),
        ("report nope", "no run at nope"),
        ("report empty", "empty holds no run: there is no config.yaml in it"),
        ("report file.txt", "file.txt is a file; give the run's folder"),
        (
            "profile empty",
            "empty holds no bundle: there is no model.json in it or in its folder bundle/; train a model first",
        ),
    ],
)
def test_nothing_there_or_something_else(here: Path, refused: Refused, words: str, sentence: str) -> None:
    (here / "empty").mkdir()
    (here / "file.txt").write_text("no folder\n")
    (here / "theirs").mkdir()
    (here / "theirs" / "config.json").write_text("{}\n")
    assert refused(*words.split()) == sentence


def test_one_class_is_none_to_choose_from(here: Path, refused: Refused) -> None:
    paint(here / "data" / "cat" / "1.png")
    assert refused("train", "data") == (
        "data holds only the class 'cat'; a classifier wants at least two folders of images, one for each class"
    )


def test_class_folders_without_images(here: Path, refused: Refused) -> None:
    for name in ("cat", "dog"):
        (here / "data" / name).mkdir(parents=True)
    assert refused("train", "data") == f"data holds no images; put images ({SUFFIXES}) into at least two of its folders"
    paint(here / "data" / "cat" / "1.png")
    assert refused("train", "data") == (
        f"data holds images of one class only; put images ({SUFFIXES}) into at least two of its folders"
    )


def test_a_class_that_could_never_be_learned(here: Path, pets: Path, refused: Refused) -> None:
    (pets / "eel").mkdir()
    assert refused("train", "pets") == (
        "pets holds no images of the class 'eel', which could never be learned; add some, or take its folder away"
    )


def test_too_few_images_to_hold_some_out(here: Path, refused: Refused) -> None:
    for i in range(4):
        paint(here / "data" / "cat" / f"{i}.png", i)
        paint(here / "data" / "dog" / f"{i}.png", i)
    assert refused("train", "data") == (
        "data has 8 training images, too few to hold a tenth out of for test in 2 classes; "
        "add images, or a folder test with some of each class"
    )


def test_two_folders_for_one_split(here: Path, pets: Path, refused: Refused) -> None:
    for split in ("train", "Training"):
        paint(here / "data" / split / "cat" / "1.png")
    assert refused("train", "data") == "data holds Training and train, both for train; keep one of them"


def _locked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A folder that may not be listed, for anyone: root is let in whatever its mode says."""
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if Path(os.fspath(path)).name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)


@pytest.mark.parametrize("locked", ["pets", "dog"])
def test_a_folder_that_may_not_be_read(
    pets: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch, locked: str
) -> None:
    _locked(monkeypatch, locked)
    where = {"pets": "pets", "dog": "pets/dog"}[locked]
    assert refused("train", "pets") == f"cannot read the folder {where}: Permission denied"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_really_not_be_read(pets: Path, refused: Refused) -> None:
    (pets / "dog").chmod(0)
    try:
        assert refused("train", "pets") == "cannot read the folder pets/dog: Permission denied"
    finally:
        (pets / "dog").chmod(0o755)


def test_a_name_too_long_for_the_system(refused: Refused) -> None:
    name = "x" * 300
    assert refused("report", name) == f"{name}: File name too long (--debug shows where it happened)"


def test_a_name_with_a_line_break_stays_one_line(refused: Refused) -> None:
    assert refused("report", "two\nlines") == "no run at two lines"
