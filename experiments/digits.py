"""The first run, five times: a ViT on scikit-learn's digits with five training seeds.

    python experiments/digits.py

Expected: a mean of at least 98.5 % of the 360 held-out images, at most 8 errors in each run. Every choice (model,
recipe, augmentation) was made by holding out parts of the other 1,437 images; this table is the only look at the 360.
"""

import statistics
import tempfile
import time
from pathlib import Path

import vitlab

SEEDS = range(5)


def main() -> None:
    """Train and print a row a seed."""
    print(f"{'seed':>4} {'accuracy':>9} {'errors':>7} {'seconds':>8}")
    accuracies = []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run = vitlab.train("digits", seed=seed, quiet=True, out=Path(folder) / "run")
            seconds = time.perf_counter() - start
            accuracies.append(run.evaluation.accuracy)
            print(f"{seed:>4} {run.evaluation.accuracy:>9.2%} {run.evaluation.errors:>7} {seconds:>8.1f}", flush=True)
    print(f"mean {statistics.mean(accuracies):>9.2%}")


if __name__ == "__main__":
    main()
