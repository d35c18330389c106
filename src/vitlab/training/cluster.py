"""Several processes that train one model: which of them this one is, and how they are started.

torchrun starts them, on one machine or on many, and starts them again when one of them dies; each then goes on from the
run's last checkpoint. On one machine `--devices` calls torchrun itself; docs/cluster.md has the lines for more.
Reading this file imports no torch.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from vitlab.errors import UserError

RESTARTS = 3  # of one machine's processes, before torchrun gives up
_PATIENCE = 6 * 3600.0  # seconds in which the first process has to have looked at the data, or evaluated


class Process(NamedTuple):
    """Which of how many processes this one is, here and in all; and how often they were restarted."""

    rank: int = 0
    world: int = 1
    on_this_machine: int = 1
    restarts: int = 0
    started_by_torchrun: bool = False


def process() -> Process:
    """What torchrun has said of this process; alone where it was not started by it."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return Process()
    rank, world, here = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    return Process(rank, world, here, int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")), True)


def check_world(devices: int, nodes: int) -> None:
    """Whether as many processes are here as were planned."""
    mine = process()
    if mine.started_by_torchrun and mine.world != devices * nodes:
        raise UserError(
            f"torchrun has started {mine.world} processes, the run wants {devices} on each of {nodes} machines; "
            f"give torchrun --nproc-per-node {devices} --nnodes {nodes}"
        )
    if nodes > 1 and not mine.started_by_torchrun:
        raise UserError(
            f"--nodes {nodes} has to be started by torchrun on each of them; docs/cluster.md has the line for it"
        )


def launch(words: Sequence[str], devices: int) -> int:
    """`vitlab` with these words in so many processes on this machine; the exit code of torchrun."""
    torchrun = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"),
        *("--nproc-per-node", str(devices), "--max-restarts", str(RESTARTS), "-m", "vitlab"),
    ]
    # Otherwise torchrun keeps one store for all of its restarts, and a process that is early finds in it where the
    # others listened before they were started again.
    environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    with subprocess.Popen([*torchrun, *words], env=environment) as started:
        try:
            return started.wait()
        except KeyboardInterrupt:  # from the terminal it has reached all of them: they keep where they stand
            started.wait()
            raise


def wait_for(ready: Callable[[], bool], folder: Path) -> None:
    """Until the first process has written what this one needs; torchrun ends the wait if that process dies."""
    until = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > until:
            raise UserError(f"nothing came from the first process in {folder}; is it a folder that all machines share?")
        time.sleep(0.1)
