"""The page while a run goes on: there before the first step, honest about how a run ended, in nobody's way."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vitlab
from tests.commands.conftest import Said
from vitlab.commands import going_on
from vitlab.commands.run import Run
from vitlab.errors import UserError
from vitlab.report import page
from vitlab.report.live import Live
from vitlab.training import now_and_then
from vitlab.training.learner import Learner

_SMALL = "train digits --epochs 2 --change depth=1 width=12 --precision float32 --threads 1 --quiet --out run"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Live, str]]:
    """What is drawn while a run goes on, at every chance there is."""
    for name in ("FIRST", "EVERY", "TIMES"):
        monkeypatch.setattr(now_and_then, name, 0.0)
    found: list[tuple[Live, str]] = []
    write = page.write_live

    def note(facts: Any, live: Live) -> Path:
        path = write(facts, live)
        found.append((live, path.read_text(encoding="utf-8")))
        return path

    monkeypatch.setattr(page, "write_live", note)
    return found


def _at_step(monkeypatch: pytest.MonkeyPatch, step: int, happens: Callable[[], None]) -> None:
    compute = Learner.training_step

    def then(self: Learner, batch: Any, batch_idx: int) -> Any:
        if self.trainer.fit_loop.total_batch_idx == step:
            happens()
        return compute(self, batch, batch_idx)

    monkeypatch.setattr(Learner, "training_step", then)


def test_from_before_the_first_step_to_the_report(here: Path, say: Callable[..., Said], pages: list[Any]) -> None:
    assert say(*_SMALL.split()).code == 0
    states = [live.state for live, _ in pages]
    told = states.count("training")
    assert states == ["ready", *["training"] * told, "testing"]
    shares = [live.share for live, _ in pages if live.state == "training"]
    assert shares == sorted(shares)
    assert {round(40 * share) for share in shares} == set(range(1, 41))
    assert 'data-by="step"' in pages[20][1]
    assert all("location.reload()" in html for _, html in pages)
    final = (here / "run" / "report.html").read_text(encoding="utf-8")
    assert "location.reload()" not in final
    assert "images held out named correctly" in final


def test_a_run_that_is_stopped_says_by_what(
    here: Path, say: Callable[..., Said], pages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _at_step(monkeypatch, 25, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert say(*_SMALL.split()).code == 143
    last, html = pages[-1]
    assert (last.state, last.said, last.epoch, last.epochs) == ("stopped", "stopped by SIGTERM", 2, 2)
    assert "vitlab train --resume run" in html
    assert (here / "run" / "report.html").read_text(encoding="utf-8") == html
    assert say("train", "--resume", "run", "--quiet").code == 0
    assert "location.reload()" not in (here / "run" / "report.html").read_text(encoding="utf-8")


def test_a_run_that_fails_says_why(
    here: Path, say: Callable[..., Said], pages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise UserError("the loss is nan at step 5; the run stops here")

    _at_step(monkeypatch, 5, fail)
    assert say(*_SMALL.split()) == (2, "", "vitlab: the loss is nan at step 5; the run stops here\n")
    assert pages[-1][0].said == "the loss is nan at step 5; the run stops here"


def test_a_page_that_cannot_be_written_ends_no_training(
    here: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def full(*_: object) -> Path:
        asked.append(1)
        raise UserError("cannot write run/report.html: the disk is full")

    monkeypatch.setattr(page, "write_live", full)
    assert say(*_SMALL.split()).code == 0
    assert asked
    assert "held out" in (here / "run" / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def broken(here: Path, trained: Run) -> Path:
    """A run killed while it was tried out, whose page says that it trains."""
    shutil.copytree(trained.folder, here / "run")
    (here / "run" / "evaluation.json").unlink()
    os.utime(here / "run" / "metrics.csv", (1e9, 1e9))
    return here / "run"


def test_the_report_of_a_run_that_was_killed(broken: Path, say: Callable[..., Said]) -> None:
    assert say("report", "run") == (0, "run/report.html\n", "")
    html = (broken / "report.html").read_text(encoding="utf-8")
    assert "broken off in epoch 1, last heard of on 9 September 2001, " in html
    assert "<code>vitlab train --resume run</code> goes on" in html
    assert "location.reload()" not in html


def test_the_report_of_a_run_that_goes_on(broken: Path, say: Callable[..., Said]) -> None:
    with going_on.alone(broken):
        assert say("report", "run").code == 0
    html = (broken / "report.html").read_text(encoding="utf-8")
    assert "Training, epoch 1 of 1" in html
    assert "location.reload()" in html


def test_the_report_of_a_run_before_its_first_step(broken: Path, say: Callable[..., Said]) -> None:
    (broken / "metrics.csv").unlink()
    assert say("report", "run").code == 0
    assert "broken off before its first step" in (broken / "report.html").read_text(encoding="utf-8")


def test_a_run_is_not_finished_by_the_page_of_its_training(broken: Path, trained: Run) -> None:
    """The report has been there all the time; the evaluation comes last."""
    run = vitlab.train(resume=broken, quiet=True)
    assert run.evaluation == trained.evaluation
    assert (broken / "evaluation.json").read_bytes() == (trained.folder / "evaluation.json").read_bytes()
