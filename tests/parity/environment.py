"""The peers' own environment: scripts of this folder run in it, and recordings made again to compare with those kept.

timm and torchvision cannot live in ours (torchvision's wheel does not load beside a CPU-only torch).
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PEERS = HERE.parents[1] / ".venv-peers"


def in_peers(script: str, *arguments: str | Path) -> str:
    """What a script of this folder prints there; a test without that environment fails with the way to it."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        pytest.fail(f"no {PEERS.name}, the environment that holds timm: run `make peers` first", pytrace=False)
    command = [python, HERE / script, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment, timeout=300).stdout


def recorded_again(script: str, kept: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """The files that a script records now, in an empty folder, each with the one kept; as many, of the same names."""
    in_peers(script, folder)
    names = {path.name for path in kept.iterdir()}
    assert {path.name for path in folder.iterdir()} == names
    assert names
    for name in sorted(names):
        yield folder / name, kept / name
