"""SIGKILL at any moment: the run that goes on ends with the same bytes, and no checkpoint is ever half a one.

Runs are children of this process, so that each starts at once and can be killed at any moment without a word.
"""

import csv
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vitlab
from vitlab import bundle, files
from vitlab.analysis import accuracy
from vitlab.report import page
from vitlab.training import checkpoint
from vitlab.training.record import Record

HERE = multiprocessing.get_context("fork")
SETTINGS: dict[str, Any] = {
    "epochs": 3, "batch": 128, "change": ("depth=1", "width=12", "dropout=0.1"), "entry": ("optimizer=muon",),
    "precision": "float32", "threads": 1, "quiet": True,
}  # fmt: skip
BY_THE_CLOCK = ("seconds", "images_per_second")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody killed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    vitlab.train("digits", out=folder, **SETTINGS)
    return folder


def start(folder: Path, whole: Path, spoil: Callable[[], None] = lambda: None) -> Any:
    """The run in a child of its own: begun as the whole one was planned, or gone on with where there is one.

    A plan of its own might choose other kernels, since they are measured, and round differently.
    """

    def work() -> None:
        spoil()
        if (folder / "config.yaml").is_file():
            vitlab.train(resume=folder, checkpoint_steps=1, quiet=True)
        else:
            vitlab.train("digits", out=folder, plan=whole / "config.yaml", checkpoint_steps=1, quiet=True)

    child = HERE.Process(target=work)
    child.start()
    return child


def killed(child: Any, within: float = 60) -> bool:
    """Whether it was killed; an exit of any other kind than a good one is a failure."""
    child.join(within)
    assert child.exitcode in (0, -signal.SIGKILL)
    return bool(child.exitcode)


def left_whole(folder: Path) -> None:
    """Every checkpoint that a killed run has left can be read."""
    for path in (folder / "checkpoints").glob("*.safetensors"):
        checkpoint.read(path)


def same(folder: Path, whole: Path) -> None:
    """The same bytes of weights, the same figures, nothing left over."""
    weights = Path("bundle") / "model.safetensors"
    assert (folder / weights).read_bytes() == (whole / weights).read_bytes()
    assert (folder / "evaluation.json").read_bytes() == (whole / "evaluation.json").read_bytes()
    assert rows(folder) == rows(whole)
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]
    assert {path.name for path in folder.iterdir()} == {path.name for path in whole.iterdir()}


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open() as file:
        return [{name: row[name] for name in row if name not in BY_THE_CLOCK} for row in csv.DictReader(file)]


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_the_middle_of_a_checkpoint() -> None:
    save = checkpoint.save_file

    def half(tensors: Any, path: Path, **how: Any) -> None:
        save(tensors, path, **how)
        if path.name == "step-000000014.safetensors":
            os.truncate(path, path.stat().st_size // 2)
            die()

    checkpoint.save_file = half  # type: ignore[assignment]


def between_a_checkpoint_and_its_name() -> None:
    swap = files._swap

    def almost(beside: Path, path: Path, scratch: Path) -> None:
        if path.name == "step-000000014.safetensors":
            die()
        swap(beside, path, scratch)

    files._swap = almost


def in_the_middle_of_a_row() -> None:
    write = Record._write

    def half(self: Record, row: Any) -> None:
        write(self, row)
        if self.path.stat().st_size > 1_000:
            os.truncate(self.path, self.path.stat().st_size - 20)
            die()

    Record._write = half  # type: ignore[method-assign]


def before_the_bundle() -> None:
    bundle.Bundle.save = die  # type: ignore[method-assign]


def while_it_is_tried_out() -> None:
    accuracy.evaluate = die  # type: ignore[assignment]


def before_its_page() -> None:
    page.write = die  # type: ignore[assignment]


FAST = (in_the_middle_of_a_checkpoint, before_the_bundle)
SLOW = (between_a_checkpoint_and_its_name, in_the_middle_of_a_row, while_it_is_tried_out, before_its_page)


@pytest.mark.parametrize(
    "moment",
    [*FAST, *(pytest.param(moment, marks=pytest.mark.slow) for moment in SLOW)],
    ids=lambda moment: moment.__name__,
)
def test_killed_at_a_bad_moment(tmp_path: Path, whole: Path, moment: Callable[[], None]) -> None:
    folder = tmp_path / "run"
    assert killed(start(folder, whole, moment))
    left_whole(folder)
    assert not killed(start(folder, whole))
    same(folder, whole)


@pytest.mark.slow
def test_twenty_five_kills_at_random_moments(tmp_path: Path, whole: Path) -> None:
    """With a checkpoint after every step much of the time goes into writing them."""
    chance = random.Random(0)
    begun = time.monotonic()
    assert not killed(start(tmp_path / "first", whole))
    length = time.monotonic() - begun
    same(tmp_path / "first", whole)
    kills = runs = writing = 0
    while kills < 25:
        folder, runs = tmp_path / f"run{runs}", runs + 1
        going = True
        while going and kills < 25:
            child = start(folder, whole)
            time.sleep(chance.uniform(0.1, 0.6) * length)
            child.kill()
            going = killed(child)
            kills += going
            writing += any((folder / "checkpoints").glob(".*.partial"))
            left_whole(folder)
        if going:
            assert not killed(start(folder, whole))
        same(folder, whole)
    print(f"{kills} kills of {runs} runs, {writing} of them while a checkpoint was being written")
    assert writing
