"""The page of a run that has not ended: where it stands, curves at once, a refresh that ends with the run."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vitlab.report import facts, page
from vitlab.report.live import Live

from .sample import HOSTILE
from .test_page import Reader

NOON = datetime(2026, 11, 18, 12, 0, 30, tzinfo=UTC)
COLUMNS = "epoch,step,train_loss,train_accuracy,val_loss,val_accuracy,rate,images_per_second,seconds\n"


def drawn(run: Path, state: Any = "training", **known: Any) -> str:
    if state == "training":
        known = {"epoch": 3, "epochs": 8, "share": 0.3, "left": 754.0, "again": 5.0} | known
    return page.write_live(facts.read(run), Live(run, state, NOON, **known)).read_text(encoding="utf-8")


def rows(run: Path, epochs: int, tail: str = "") -> None:
    """Epochs of two rows of single steps and one that closes."""
    told = COLUMNS
    for e in range(1, epochs + 1):
        told += f"{e},{10 * e - 9},{4 / e},0.{e},,,0.001,900,{e}.0\n{e},{10 * e - 4},{3 / e},0.{e},,,0.002,950,{e}.5\n"
        told += f"{e},{10 * e},{3.5 / e},0.{e},{2 / e},0.{e + 1},0.003,1000,{e}.9\n"
    (run / "metrics.csv").write_text(told + tail)


def test_it_says_where_the_run_is_and_when_that_was(run: Path) -> None:
    text = Reader(drawn(run)).text
    assert "Training, epoch 3 of 8 about 12 min 34 s left" in text
    assert "Drawn on 18 November 2026, 12:00:30 UTC." in text
    assert "This page draws itself anew until the run has ended." in text
    assert f"vitlab train --resume {run} goes on from its last checkpoint." in text
    assert "not been evaluated" not in text
    assert "is not finished" not in text
    assert "in epoch 3 of 3, on 1,077 images of shapes (4 classes), 7.2 s so far, on cpu." in text


def test_what_was_found_at_the_end_of_another_attempt_is_not_shown(run: Path) -> None:
    """An evaluation, examples: the folder may hold them of an ending that was broken off."""
    html = drawn(run)
    assert 'id="confusion"' not in html
    assert 'id="looks"' not in html
    assert "87.5% validation accuracy after epoch 2, watched during training" in Reader(html).text


def test_it_loads_itself_anew_and_nothing_else(run: Path) -> None:
    html = drawn(run)
    seen = Reader(html)
    assert not seen.problems
    assert not seen.open
    scripts = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    assert "location.reload()" in scripts[0]
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(a["content"] for _, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'" in str(policy)
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in html
    live = next(a for _, a in seen.elements if "live" in str(a.get("class")).split())
    assert (live["data-drawn"], live["data-again"]) == (str(1000 * int(NOON.timestamp())), "5.0")


@pytest.mark.parametrize(
    ("state", "known", "doubt"),
    [("training", {"again": 5.0}, 60), ("training", {"again": 90.0}, 360), ("ready", {}, 600), ("testing", {}, 600)],
)
def test_how_long_nothing_may_come(run: Path, state: Any, known: dict[str, float], doubt: float) -> None:
    assert f'data-doubt="{float(doubt)}"' in drawn(run, state, **known)


def test_a_run_that_has_stopped_says_why_and_is_still(run: Path) -> None:
    html = drawn(run, "stopped", said=f"the loss is {HOSTILE}", epoch=2, epochs=8, share=0.25)
    text = Reader(html).text
    assert f"Not finished the loss is {HOSTILE}" in text
    assert HOSTILE not in html
    assert f"vitlab train --resume {run} goes on from its last checkpoint." in text
    assert "draws itself" not in text
    assert "reload" not in html
    assert 'http-equiv="refresh"' not in html


def test_the_page_of_a_run_that_has_ended_is_still(run: Path) -> None:
    drawn(run)
    html = page.write(run).read_text(encoding="utf-8")
    assert "reload" not in html
    assert 'http-equiv="refresh"' not in html
    assert 'class="live' not in html
    assert "Learning rate</b>" not in html


def test_an_evaluation_can_be_drawn_before_it_is_written(run: Path) -> None:
    """So that a run counts as finished only when its page is there."""
    expected = page.write(run).read_text(encoding="utf-8")
    evaluation = json.loads((run / "evaluation.json").read_text())
    (run / "evaluation.json").unlink()
    assert page.write(run, evaluation).read_text(encoding="utf-8") == expected


def points(html: str, title: str) -> dict[str, int]:
    """How many points each curve of a chart has."""
    figure = html.split(f"<b>{title}</b>")[1].split("</figure>")[0]
    curves = re.findall(r'<polyline class="(\w+)" points="([^"]*)"', figure)
    return {name: len(places.split()) for name, places in curves}


def test_before_the_first_epoch_has_ended_there_are_curves_by_step(bare: Path) -> None:
    rows(bare, 0, "1,1,2.5,0.1,,,0.001,900,1.0\n1,11,2.0,0.3,,,0.002,950,2.0\n")
    html = drawn(bare, epoch=1)
    assert points(html, "Loss") == points(html, "Images a second") == points(html, "Learning rate") == {"train": 2}
    assert 'data-by="step"' in html
    assert '<p class="across" aria-hidden="true">step</p>' in html
    assert "20.0% of the training images so far, none validated yet" in Reader(html).text


@pytest.mark.parametrize(("epochs", "train", "by"), [(4, 8, "step"), (5, 5, "epoch")])
def test_a_few_epochs_make_a_curve_by_epoch(bare: Path, epochs: int, train: int, by: str) -> None:
    """By step the closing row, which has the mean of its epoch, gives its validation alone."""
    rows(bare, epochs)
    html = drawn(bare)
    assert points(html, "Loss") == points(html, "Accuracy") == {"train": train, "validation": epochs}
    assert points(html, "Images a second") == {"train": 3 * epochs if by == "step" else epochs}
    assert f'data-by="{by}"' in html


def test_before_anything_is_measured(bare: Path) -> None:
    text = Reader(drawn(bare, "ready")).text
    assert "About to train images are being prepared" in text
    assert "nothing is measured yet" in text
    assert "Nothing has been measured yet: metrics.csv is missing or empty." in text
