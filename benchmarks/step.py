"""Images a second of one training step, ours beside timm's, transformers' and vit-pytorch's, all by turns in one run.

    OMP_NUM_THREADS=2 python benchmarks/step.py [ROUNDS]

Wants `make peers`. Every contestant trains the same model with the same dropout on the same batch, in a process of its
own, and takes a step when it is its turn: the best of a few counts. Prints ratios, what share of this machine's peak of
matrix products the step reaches (the largest of squares and of the layers' own shapes, in this run) and peak memory.
Leave the machine alone meanwhile.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import torch
from peers.training import BATCH, SHAPES, THREADS

from vitlab.models.cost import cost
from vitlab.models.registry import blueprint

HERE, MAIN = Path(__file__).parent, sys.executable
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
OURS, FLOAT, HALF = ("vitlab", "bfloat16"), "float32", "bfloat16"
PYTHON = {"vitlab": MAIN, "transformers": MAIN, "timm": PEERS, "vit-pytorch": PEERS}
CONTESTANTS = [OURS, *((library, dtype) for library in PYTHON if library != "vitlab" for dtype in (FLOAT, HALF))]


class Contestant:
    """A process that takes a step when asked."""

    def __init__(self, library: str, dtype: str, name: str) -> None:
        command = [str(PYTHON[library]), str(HERE / "peers" / "training.py"), library, dtype, name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.best, self.peak = float("inf"), 0

    def ask(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.best, self.peak = min(self.best, answer["seconds"]), answer["peak"]

    def end(self) -> None:
        self.process.communicate()


def peak(name: str) -> tuple[float, str]:
    """FLOP/s of the fastest product of matrices in bfloat16, and which."""
    side, patch, width, _, _ = SHAPES[name]
    tokens = BATCH * ((side // patch) ** 2 + 1)
    layers = [(tokens, width, 3 * width), (tokens, width, 4 * width), (tokens, 4 * width, width)]
    found = []
    for rows, inner, columns in [(n, n, n) for n in (512, 1024, 2048)] + layers:
        left, right = (torch.randn(shape).bfloat16() for shape in ((rows, inner), (inner, columns)))
        times = max(1, 2**32 // (rows * inner * columns))
        for _ in range(6):
            start = time.perf_counter()
            for _ in range(times):
                left @ right
            flops = 2 * rows * inner * columns * times / (time.perf_counter() - start)
            found.append((flops, f"{rows}x{inner} by {inner}x{columns}"))
    return max(found)


def main(rounds: int) -> None:
    """Measure and print."""
    torch.set_num_threads(THREADS)
    for name in SHAPES:
        top, which = peak(name)
        flops = 3 * 2 * cost(blueprint(name), 1).gmacs * 1e9 * BATCH
        running = {key: Contestant(*key, name) for key in CONTESTANTS}
        for _ in range(rounds + 1):  # by turns: a machine that slows down slows all
            for contestant in running.values():
                contestant.ask()
        for contestant in running.values():
            contestant.end()
        ours = running[OURS].best
        print(f"\n{name}, batch {BATCH}, {THREADS} threads, torch {torch.__version__}")
        print(f"peak in bfloat16: {top / 1e9:.0f} GFLOP/s ({which})")
        print(f"{'library':<13} {'dtype':<9} {'images/s':>9} {'vitlab is':>10} {'of peak':>8} {'peak MiB':>9}")
        for (library, dtype), found in running.items():
            print(
                f"{library:<13} {dtype:<9} {BATCH / found.best:>9.1f} {found.best / ours:>9.2f}x "
                f"{flops / found.best / top:>8.1%} {found.peak / 2**20:>9.0f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
