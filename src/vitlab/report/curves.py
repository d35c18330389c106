"""Learning curves from `metrics.csv`, one record an epoch.

The file is a log: an epoch may have many rows, some with training figures alone, some with validation
figures alone, most cells empty. Of each figure the last value stands: the row that closes an epoch has the mean over
all of it. Where no row closes it, as when a run was stopped, training figures are the mean of the rows there are.
"""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from vitlab.errors import UserError

AVERAGED = ("train_loss", "train_accuracy")
LAST = ("val_loss", "val_accuracy", "rate", "images_per_second", "seconds", "step")


@dataclass(frozen=True)
class Epoch:
    """What was measured during one epoch; None where nothing was."""

    epoch: int
    train_loss: float | None = None
    train_accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None
    rate: float | None = None
    images_per_second: float | None = None
    seconds: float | None = None
    step: float | None = None


def read_curves(path: Path, by: str = "epoch") -> tuple[Epoch, ...]:
    """The merged epochs in order; none when there is no file or no row yet.

    By `step`, every step with a row is merged for itself, and counts as an epoch: a run of few epochs is seen closer.
    """
    if not path.is_file():
        return ()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(f"{path} is not a text file ({problem.reason})") from None
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames is None:
        return ()
    if by not in reader.fieldnames:
        raise UserError(f"{path} has no `{by}` column; its first line must name the columns")
    gathered: dict[int, dict[str, list[float]]] = {}
    for row in reader:
        number = _number(row.get(by), by, path, reader.line_num)
        if number is None:
            continue
        if not number.is_integer():
            raise UserError(f"{path}, line {reader.line_num}: {by} {number} is not a whole number")
        cells = gathered.setdefault(int(number), {})
        named = ((name, _number(row.get(name), name, path, reader.line_num)) for name in AVERAGED + LAST)
        measured = {name: value for name, value in named if value is not None}
        closes = "val_loss" in measured or "val_accuracy" in measured
        for name, value in measured.items():
            if closes and name in AVERAGED:
                cells[name] = [value]
            else:
                cells.setdefault(name, []).append(value)
    return tuple(_merge(epoch, gathered[epoch]) for epoch in sorted(gathered))


def best(epochs: tuple[Epoch, ...]) -> Epoch | None:
    """The epoch a person would keep: highest validation accuracy, else lowest validation loss; the first of equals."""
    by_accuracy = [e for e in epochs if e.val_accuracy is not None and math.isfinite(e.val_accuracy)]
    if by_accuracy:
        return max(by_accuracy, key=lambda e: (e.val_accuracy or 0.0, -e.epoch))
    by_loss = [e for e in epochs if e.val_loss is not None and math.isfinite(e.val_loss)]
    return min(by_loss, key=lambda e: (e.val_loss or 0.0, e.epoch)) if by_loss else None


def broken(epochs: tuple[Epoch, ...]) -> int | None:
    """The first epoch whose loss was not finite: the training had blown up."""
    for epoch in epochs:
        if any(loss is not None and not math.isfinite(loss) for loss in (epoch.train_loss, epoch.val_loss)):
            return epoch.epoch
    return None


def _merge(epoch: int, cells: dict[str, list[float]]) -> Epoch:
    merged = {name: math.fsum(cells[name]) / len(cells[name]) for name in AVERAGED if name in cells}
    merged.update({name: cells[name][-1] for name in LAST if name in cells})
    return Epoch(epoch, **merged)


def _number(cell: object, column: str, path: Path, line: int) -> float | None:
    """A cell as a number, None when empty. NaN and infinity pass: they are what a diverged run recorded."""
    text = cell.strip() if isinstance(cell, str) else ""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{path}, line {line}: {column} should be a number and is {text[:40]!r}") from None
