"""The command line called in this process, and one small trained run for all."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

import vitlab
from vitlab.cli import main
from vitlab.commands.run import Run


class Said(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def say(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run `vitlab` with these words."""

    def run(*words: object) -> Said:
        capsys.readouterr()
        code = 0
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(here: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run `vitlab` with a mistake; it must end with 2 and one sentence, and leave the folder as it was."""

    def train_on(*_: object) -> None:
        raise AssertionError("the mistake was not noticed: the training begins")

    monkeypatch.setattr(importlib.import_module("vitlab.commands.follow"), "_carry_out", train_on)

    def run(*words: object) -> str:
        before = contents(here)
        said = say(*words)
        assert said.code == 2
        assert said.out == ""
        assert said.err.startswith("vitlab: ")
        assert said.err.endswith("\n")
        assert said.err.count("\n") == 1
        assert contents(here) == before
        return said.err.removeprefix("vitlab: ").rstrip("\n")

    return run


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if os.access(path, os.R_OK)
    }


def paint(path: Path, seed: int = 0, size: tuple[int, int] = (8, 8)) -> Path:
    """A picture of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def pets(here: Path) -> Path:
    """A folder of two classes with thirty pictures each."""
    for i in range(30):
        paint(here / "pets" / "cat" / f"{i}.png", i)
        paint(here / "pets" / "dog" / f"{i}.png", 100 + i)
    return here / "pets"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The digits learned for one epoch by almost nothing; not to be changed."""
    folder = tmp_path_factory.mktemp("trained") / "tiny"
    return vitlab.train(
        "digits", epochs=1, change=("depth=1", "width=12"), quiet=True, precision="float32", threads=1, out=folder
    )
