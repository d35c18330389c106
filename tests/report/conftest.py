"""Folders of runs as fixtures; what they hold is in `sample`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .sample import COMMAND, COST, EXAMPLES, METRICS, MODEL, PLAN, evaluation


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A run that has only just begun: the plan alone."""
    run = tmp_path / "bare run"
    run.mkdir()
    (run / "config.yaml").write_text(f"command: {COMMAND}\n")
    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished and evaluated run."""
    run = tmp_path / "shapes-1"
    (run / "bundle").mkdir(parents=True)
    (run / "config.yaml").write_text(PLAN)
    (run / "metrics.csv").write_text(METRICS)
    (run / "evaluation.json").write_text(json.dumps(evaluation()))
    (run / "examples.json").write_text(json.dumps(EXAMPLES))
    (run / "cost.json").write_text(json.dumps(COST))
    (run / "bundle" / "model.json").write_text(json.dumps(MODEL))
    return run


@pytest.fixture
def evaluated(bare: Path) -> Callable[..., Path]:
    """Write an evaluation with some entries changed; gives the run."""

    def change(**entries: Any) -> Path:
        (bare / "evaluation.json").write_text(json.dumps(evaluation() | entries))
        return bare

    return change
