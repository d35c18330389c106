"""A run's folder: where it is made, what it holds, how it is opened again."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.errors import UserError
from vitlab.files import check_writable, saying_why, sweep

if TYPE_CHECKING:
    from vitlab.analysis.accuracy import Evaluation
    from vitlab.bundle import Bundle

_MARKS = ("config.yaml", "metrics.csv", "checkpoints", "bundle")


@dataclass(frozen=True)
class Run:
    """What a training left: `run.bundle` to use, `run.evaluation` to know, `run.report` to look at."""

    folder: Path

    @cached_property
    def bundle(self) -> "Bundle":
        from vitlab.bundle import load

        return load(self.folder)

    @cached_property
    def evaluation(self) -> "Evaluation":
        from vitlab.analysis.accuracy import Evaluation

        return Evaluation.model_validate_json((self.folder / "evaluation.json").read_text(encoding="utf-8"))

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    def predict(self, images: Any) -> Any:
        """Labels with probabilities; see `Bundle.predict`."""
        return self.bundle.predict(images)

    def to_json(self) -> str:
        """What scripts read."""
        found = self.evaluation.model_dump(exclude={"mistakes", "confusion", "classes"})
        return json.dumps({"folder": str(self.folder), "report": str(self.report), **found})

    def __str__(self) -> str:
        return f"{self.evaluation}\nbundle  {self.folder / 'bundle'}\nreport  {self.report}"


def check_free(folder: Path) -> None:
    """Refuse a folder that holds another run, a file where a folder belongs, and a place that cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; --out wants a folder")
    check_writable(folder)
    if any((folder / mark).exists() for mark in _MARKS):
        raise UserError(f"{folder} holds another run; take another --out, or move that run away")


def _next_free(name: str) -> Path:
    folder, count = Path("runs") / name, 1
    while folder.exists():
        count += 1
        folder = folder.with_name(f"{name}-{count}")
    return folder


def claim(folder: Path | None, name: str) -> Path:
    """The folder of a new run, made: the one asked for, or the next free one of that name under `runs/`."""
    folder = folder or _next_free(name)
    check_free(folder)
    with saying_why(folder):
        folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    return folder
