"""A disk that is full: the sentence names the file and the way out, and no half of anything stays behind."""

import errno
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

import vitlab
from tests.commands.conftest import Said
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess

_LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # a limit would cut that short too, for everyone
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from vitlab.cli import main
main(sys.argv[2:])
"""
_TRAIN = "train digits --epochs 1 --change depth=1 width=12 --precision float32 --threads 1 --quiet --out run"


@pytest.mark.parametrize(
    ("bytes_a_file", "file"),
    [(2_000, "run/config.yaml"), (8_000, "run/checkpoints/best.safetensors")],
    ids=["the plan", "a checkpoint"],
)
def test_a_real_limit_on_files(tmp_path: Path, bytes_a_file: int, file: str) -> None:
    words = [sys.executable, "-c", _LIMITED, str(bytes_a_file), *_TRAIN.split()]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == (
        f"vitlab: cannot write {file}: the limit on the size of a file is reached; "
        "raise it (ulimit -f) or choose another folder\n"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name or path.name.startswith(".")]
    for bundle in tmp_path.rglob("bundle"):
        assert {path.name for path in bundle.iterdir()} == {"model.json", "model.safetensors"}


def test_no_space_left_for_the_bundle(here: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object, path: Path, **__: object) -> None:
        path.write_bytes(b"half of it")
        raise SafetensorError(f"Error while serializing: I/O error: No space left on device (os error {errno.ENOSPC})")

    monkeypatch.setattr(importlib.import_module("vitlab.bundle"), "save_file", full)
    said = say(*_TRAIN.split())
    assert said == (
        2,
        "",
        "vitlab: cannot write run/bundle: the disk is full; free some space or choose another folder\n",
    )
    assert {path.name for path in (here / "run").iterdir()} == {
        "config.yaml",
        "cost.json",
        "metrics.csv",
        "checkpoints",
        "report.html",
    }


@pytest.mark.parametrize("to", ["bundle", "timm", "transformers"])
def test_a_real_limit_on_converted_weights(here: Path, to: str) -> None:
    words = [sys.executable, "-c", _LIMITED, "8000", "convert", str(_photographs(here)), "made", "--to", to]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "vitlab: cannot write made: the limit on the size of a file is reached; "
        "raise it (ulimit -f) or choose another folder"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert [path.name for path in here.iterdir()] == ["bundle"]


def _photographs(folder: Path) -> Path:
    """A bundle of three channels, which every library takes."""
    blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(image=32, depth=1, width=48, classes=2)
    preprocess = Preprocess(size=(32, 32), channels=3, mean=(0.5,) * 3, std=(0.5,) * 3)
    card = Card(blueprint=blueprint, preprocess=preprocess, classes=("a", "b"))
    Bundle(blueprint.build(), card).save(folder / "bundle")
    return folder / "bundle"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has a full device to write to")  # noqa: PTH110
def test_standard_output_that_takes_nothing() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-c", "from vitlab.cli import main; main(['--version'])"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "vitlab: No space left on device (--debug shows where it happened)\n"


def test_a_reader_that_has_gone() -> None:
    """As in `vitlab --version | true`."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", "from vitlab.cli import main; main(['--version'])"]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
