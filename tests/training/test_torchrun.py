"""`--devices 2` as a person types it: torchrun starts two processes, and starts them again when one is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import vitlab
from tests.training.test_cluster import differ

SETTINGS = (
    "--epochs 8 --batch 128 --change depth=1 width=12 dropout=0 --drop-path 0 --entry augment=[] --ema 0.8 "
    "--precision float64 --threads 1 --quiet"
)
LATE = """
import os, time
if (os.environ.get("RANK"), os.environ.get("TORCHELASTIC_RESTART_COUNT")) == ("0", "1"):
    time.sleep(5)
"""


def children(parent: int) -> list[int]:
    """Processes that this one has started, oldest first."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(words[1]) == parent:
            found.append(int(stat.parent.name))
    return sorted(found)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the processes to kill in /proc")
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_torchrun_starts_a_killed_process_again(tmp_path: Path, strategy: str) -> None:
    """When both start again the first is late, and the second must not look for it where it was before."""
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "sitecustomize.py").write_text(LATE)
    words = [sys.executable, "-m", "vitlab", "train", "digits", *SETTINGS.split(), "--out", "two", "--devices", "2"]
    words += ["--strategy", strategy, "--checkpoint-steps", "5"]
    path = os.pathsep.join([str(tmp_path / "late"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as started:
        until = time.monotonic() + 120
        while not list((tmp_path / "two" / "checkpoints").glob("step-*")) and time.monotonic() < until:
            time.sleep(0.02)
        (torchrun,) = children(started.pid)
        first, second = children(torchrun)
        os.kill(second, signal.SIGKILL)
        _, told = started.communicate(timeout=240)
        assert started.returncode == 0, told
    assert "Signal 9" in told or "exitcode: -9" in told
    assert not {first, second} & set(children(torchrun))
    vitlab.train(
        "digits", epochs=8, batch=128, change=("depth=1", "width=12", "dropout=0"), drop_path=0.0, ema=0.8,
        entry=("augment=[]",), precision="float64", threads=1, quiet=True, out=tmp_path / "one",
    )  # fmt: skip
    assert differ(tmp_path / "one", tmp_path / "two") < 1e-8
    assert vitlab.load(tmp_path / "two").classes == vitlab.load(tmp_path / "one").classes
