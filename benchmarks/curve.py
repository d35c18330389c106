"""The loss curve in bfloat16 beside that in float32, over 500 steps, against what another seed changes.

    OMP_NUM_THREADS=2 python benchmarks/curve.py [SEEDS]

`vit_cifar_small_patch4_32` with 4 of its blocks learns scikit-learn's digits at 32 pixels with the whole engine. A row
is an epoch: the mean loss of its steps, over the seeds, and how far seeds in float32 lie apart. A few minutes.
"""

import csv
import sys
import tempfile
from pathlib import Path
from statistics import mean

import torch

from vitlab.data.origin import Origin
from vitlab.training.fit import fit
from vitlab.training.resolve import Request, resolve

NAME, DEPTH, BATCH, EPOCHS, THREADS = "vit_cifar_small_patch4_32", 4, 16, 7, 2


def curve(precision: str, seed: int) -> tuple[int, list[float]]:
    """Steps of an epoch, and the mean loss of each epoch."""
    changes = {"epochs": EPOCHS, "batch": BATCH}
    ready = resolve(
        Request(
            Origin("digits"), model=NAME, changes={"depth": DEPTH}, recipe="cifar", recipe_changes=changes, seed=seed,
            precision=precision, threads=THREADS,
        )
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        fit(ready.plan, ready.splits, Path(folder), quiet=True)
        with (Path(folder) / "metrics.csv").open(encoding="utf-8") as file:
            found = [float(row["train_loss"]) for row in csv.DictReader(file) if row["val_loss"]]
    return ready.plan.steps // EPOCHS, found


def main(seeds: int) -> None:
    """Train and print."""
    found = {name: [curve(name, seed) for seed in range(seeds)] for name in ("float32", "bfloat16")}
    steps = found["float32"][0][0]
    print(f"{NAME}, {DEPTH} blocks, batch {BATCH}, {seeds} seeds, torch {torch.__version__}")
    print(
        f"{'steps':>6} {'float32':>9} {'bfloat16':>9} {'difference':>11} {'of the same seed':>17} {'seeds apart':>12}"
    )
    for epoch in range(EPOCHS):
        exact, rough = ([losses[epoch] for _, losses in found[name]] for name in ("float32", "bfloat16"))
        paired = max(abs(a - b) for a, b in zip(exact, rough, strict=True))
        print(
            f"{steps * (epoch + 1):>6} {mean(exact):>9.4f} {mean(rough):>9.4f} {mean(rough) - mean(exact):>+11.4f} "
            f"{paired:>17.4f} {max(exact) - min(exact):>12.4f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
