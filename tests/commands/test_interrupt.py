"""Ctrl-C: one sentence, exit code 130, and what was written is whole."""

import csv
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import vitlab
from tests.commands.conftest import Said

_SENTENCE = "vitlab: stopped by Ctrl-C; what was written so far is whole, and `vitlab train --resume run` goes on\n"
_LEFT = {"config.yaml", "cost.json", "metrics.csv", "checkpoints", "report.html"}
_SMALL = "--change depth=1 width=12 --precision float32 --threads 1 --quiet --out run"


def _rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8"))) if path.exists() else []


def test_in_the_middle_of_training(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from vitlab.cli import main; main()", "train", "digits", "--epochs", "5000"]
    process = subprocess.Popen(
        [*words, *_SMALL.split()], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    metrics = tmp_path / "run" / "metrics.csv"
    until = time.monotonic() + 60
    while len(_rows(metrics)) < 30 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", _SENTENCE)
    rows = _rows(metrics)
    assert len(rows) >= 30
    assert {len(row) for row in rows} == {len(rows[0])}
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["recipe"]["epochs"] == 5000
    assert {path.name for path in (tmp_path / "run").iterdir()} == _LEFT


@pytest.mark.parametrize("moment", ["save", "evaluate", "page"])
def test_after_training(here: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """While the bundle is written, tried out, and described."""

    def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    module, name = {
        "save": ("vitlab.bundle", "save_file"),
        "evaluate": ("vitlab.analysis.accuracy", "evaluate"),
        "page": ("vitlab.report.page", "write"),
    }[moment]
    monkeypatch.setattr(importlib.import_module(module), name, interrupted)
    assert say("train", "digits", "--epochs", "1", *_SMALL.split()) == (130, "", _SENTENCE)
    left = {path.name for path in (here / "run").iterdir()}
    assert not [path for path in here.rglob("*") if path.name.startswith(".")]
    if moment == "save":
        assert left == _LEFT
    else:
        assert left >= {"config.yaml", "metrics.csv", "checkpoints", "bundle"}
        assert len(vitlab.load("run").classes) == 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
