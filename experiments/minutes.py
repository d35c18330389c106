"""Accuracy for the minute: a training run from nothing, its whole time by the clock, and a page of results beside it.

Each `minutes_*.py` is one such run: the command, the accuracy and the minutes expected of it. What is counted is all of
`vitlab train` as a person starts it, with empty caches: loading the libraries, reading the data, planning, training,
saving, and testing once on the whole test set. Leave the machine alone meanwhile. CIFAR-10 and the others lie in
$VITLAB_DATA; settings were chosen on held-out training images (docs/log.md).
"""

import argparse
import csv
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"


class Timed(NamedTuple):
    """A run to be made: what `vitlab train` is told, and what it is to reach."""

    name: str
    flags: Sequence[str]
    accuracy: float
    minutes: float
    seeds: Sequence[int] = (0,)


def run(what: Timed) -> None:
    """Train with each seed, print a row for each, and write down what came of it; `--keep FOLDER` keeps the runs."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--keep", type=Path, help="leave the runs in this folder")
    keep = asked.parse_args().keep
    print(f"vitlab train {shlex.join(what.flags)}\nexpected: {what.accuracy:.1%} within {what.minutes:g} minutes\n")
    print(f"{'seed':>4} {'test':>8} {'minutes':>8}")
    found = []
    for seed in what.seeds:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(keep or folder) / f"{what.name}-{seed}"
            found.append(_train([*what.flags, "--seed", str(seed)], out, Path(folder)))
        print(f"{seed:>4} {found[-1]['accuracy']:>8.2%} {found[-1]['minutes']:>8.2f}", flush=True)
    mean = statistics.mean(each["accuracy"] for each in found)
    longest = max(each["minutes"] for each in found)
    print(f"mean {mean:>8.2%}, {'reached' if mean >= what.accuracy and longest <= what.minutes else 'missed'}")
    RESULTS.mkdir(exist_ok=True)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    told = {"date": today, "command": f"vitlab train {shlex.join(what.flags)}", "runs": found}
    (RESULTS / f"{what.name}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _train(flags: Sequence[str], out: Path, empty: Path) -> dict:
    """One run in a process of its own: test accuracy, minutes by the clock, and validation accuracy on the way."""
    command = [sys.executable, "-c", "from vitlab.cli import main; main()", "train", *flags, "--out", str(out)]
    caches = {name: str(empty / name) for name in ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "VITLAB_CACHE")}
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--quiet", "--json"], stdout=subprocess.PIPE, env={**os.environ, **caches}, check=True
    )
    minutes = (time.perf_counter() - start) / 60
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["val_accuracy"]]
    curve = [[round(float(row["seconds"]) / 60, 2), round(float(row["val_accuracy"]), 4)] for row in rows]
    return {"accuracy": json.loads(done.stdout)["accuracy"], "minutes": round(minutes, 2), "validation": curve}
