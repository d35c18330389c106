"""vitlab train --resume: what it takes, what it refuses, what it leaves alone."""

import inspect
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import vitlab
from tests.commands.conftest import Said, contents
from vitlab.commands import going_on
from vitlab.commands.run import Run


@pytest.fixture
def broken(here: Path, trained: Run) -> Path:
    """A run killed before its bundle was written."""
    shutil.copytree(trained.folder, here / "run")
    shutil.rmtree(here / "run" / "bundle")
    for name in ("evaluation.json", "report.html"):
        (here / "run" / name).unlink()
    return here / "run"


def test_a_run_that_is_finished_says_so(here: Path, say: Callable[..., Said], trained: Run) -> None:
    shutil.copytree(trained.folder, here / "run")
    before = contents(here)
    said = say("train", "--resume", "run")
    assert (said.code, said.err) == (0, "  run is finished already; nothing is left to do\n")
    assert said.out.startswith(str(trained.evaluation).splitlines()[0])
    assert contents(here) == before


def test_what_is_left_to_do_is_done(broken: Path, say: Callable[..., Said], trained: Run) -> None:
    assert say("train", "--resume", "run", "--quiet").code == 0
    for name in ("bundle/model.safetensors", "evaluation.json", "metrics.csv"):
        assert (broken / name).read_bytes() == (trained.folder / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--epochs", "9", "--seed", "3"], "run was planned with --epochs 1, not 9, --seed 0, not 3; leave out"),
        (["--change", "depth=2"], "run was planned with another --change than depth=2; leave out"),
        (["--model", "vit_tiny_patch16_224"], "run was planned with another --model than vit_tiny_patch16_224;"),
        (["--recipe", "cifar"], "run was planned with another --recipe than cifar;"),
        (["--entry", "optimizer=muon"], "run was planned with another --entry than optimizer=muon;"),
        (["--size", "16"], "run was planned with another --size than 16;"),
        (["--precision", "bfloat16"], "run was planned with --precision float32, not bfloat16;"),
        (["--out", "other"], "run was planned with another --out than other;"),
        (["--checkpoint-steps", "0"], "--checkpoint-steps wants at least 1, not 0"),
        (["--checkpoint-minutes", "0"], "--checkpoint-minutes wants more than 0, not 0"),
    ],
)
def test_other_settings_are_named(broken: Path, refused: Callable[..., str], words: list[str], sentence: str) -> None:
    assert refused("train", "--resume", "run", *words).startswith(sentence)


def test_the_same_settings_may_be_said_again(broken: Path, say: Callable[..., Said]) -> None:
    words = "train digits --resume run --epochs 1 --change depth=1 width=12 --precision float32 --recipe few --size 8"
    assert say(*words.split(), "--out", "run", "--entry", 'optimizer={"kind": "adamw"}', "--quiet").code == 0


def test_other_data_are_refused(broken: Path, pets: Path, refused: Callable[..., str]) -> None:
    assert refused("train", "pets", "--resume", "run").startswith("pets is not the data this plan was made for")


def test_what_is_no_run(here: Path, refused: Callable[..., str]) -> None:
    (here / "empty").mkdir()
    (here / "file").write_text("", encoding="utf-8")
    assert refused("train", "--resume", "nowhere") == "no run at nowhere"
    assert refused("train", "--resume", "file") == "file is a file; give the run's folder"
    assert refused("train", "--resume", "empty").startswith("empty holds no run that was planned")
    assert refused("train").startswith("train wants DATA")


def test_one_process_at_a_time(broken: Path, refused: Callable[..., str]) -> None:
    with going_on.alone(broken):
        assert refused("train", "--resume", "run").startswith("run is being trained by another process")


def test_from_python_as_from_the_command_line(broken: Path, trained: Run) -> None:
    run = vitlab.train(resume=broken, quiet=True)
    assert run.evaluation == trained.evaluation


def test_every_setting_of_a_training_can_be_compared() -> None:
    from vitlab.training.plan import Machine
    from vitlab.training.recipe import Recipe

    known = {*going_on._FREE, *going_on._WHOLE, *Recipe.model_fields, *Machine.model_fields, "seed", "accumulate"}
    assert set(inspect.signature(vitlab.train).parameters) <= known
