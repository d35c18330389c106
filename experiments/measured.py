"""What the experiments on parts of CIFAR-10 share: images as folders, a training in a process of its own, intervals."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from PIL import Image

from vitlab.data.sources import open_source
from vitlab.data.sources.source import Source

# Two-sided 95 % of Student's t, by degrees of freedom.
_T = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


class Trained(NamedTuple):
    """What came of a run, and what it took."""

    folder: Path
    accuracy: float
    seconds: float
    mebibytes: float


class Images(NamedTuple):
    """CIFAR-10 to take parts of; with `held_out`, a tenth of the training images stands for the test images."""

    source: Source
    held_out: bool

    def write(
        self, folder: Path, classes: Sequence[str], each: int | None = None, seed: int = 0, test: int = 1000
    ) -> Path:
        """A folder of images of these classes: so many of each to train on, drawn by seed, and up to `test` to test."""
        drawn = torch.Generator().manual_seed(seed)
        for name in classes:
            label = self.source.classes.index(name)
            train, tested = self._places("train", label), self._places("test", label)
            if self.held_out:
                train, tested = train[: len(train) * 9 // 10], train[len(train) * 9 // 10 :]
            some = [train[i] for i in torch.randperm(len(train), generator=drawn)[:each].tolist()]
            self._save(folder / "train" / name, "train", some)
            self._save(folder / "test" / name, "train" if self.held_out else "test", tested[:test])
        return folder

    def _places(self, split: str, label: int) -> list[int]:
        return [i for i, each in enumerate(self.source.splits[split].labels) if each == label]

    def _save(self, folder: Path, split: str, places: Sequence[int]) -> None:
        folder.mkdir(parents=True)
        for i in places:
            picture = self.source.splits[split].read(i)
            picture = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
            picture.save(folder / f"{split}-{i}.png", compress_level=1)


def cifar10(held_out: bool) -> Images:
    """The data set, from $VITLAB_DATA or data/."""
    return Images(open_source("cifar10"), held_out)


def train(data: Path, out: Path, *flags: str) -> Trained:
    """`vitlab train DATA FLAGS` on one core, with that core's seconds and the most memory that the process held.

    One thread, whose seconds count wherever they were had: what a run takes is its own, whatever else the machine does.
    """
    command = [sys.executable, "-c", "from vitlab.cli import main; main()", "train", str(data), "--out", str(out)]
    log = out.with_suffix(".log")
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("w") as said:
        process = subprocess.Popen(
            [*command, "--quiet", "--json", *flags], stdout=subprocess.PIPE, stderr=said, env=one
        )
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return Trained(out, json.loads(output)["accuracy"], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def interval(values: Sequence[float]) -> str:
    """The mean with its 95 % interval (Student's t), in points."""
    mean = 100 * statistics.mean(values)
    if len(values) < 2:
        return f"{mean:6.2f}        "
    half = 100 * _T[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean:6.2f} ± {half:5.2f}"
