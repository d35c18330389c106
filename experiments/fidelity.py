"""Which explanation to believe on CIFAR-10: deletion and insertion of every method on test images of a trained run.

    python experiments/fidelity.py runs/cifar10 [--count 200]

Expected, for a model of at least 80 %: at least six methods scored, and the best one's interval of the gain over a
ranking by lot above zero. The run is one of `vitlab train cifar10`; its test images are where it found them.
"""

import argparse

import vitlab
from vitlab.explain.fidelity import Fidelity

LEAST_ACCURACY, LEAST_METHODS = 0.8, 6


def main() -> None:
    """Print the table and what was expected of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--count", type=int, default=200)
    asked = parser.parse_args()
    accuracy = vitlab.load(asked.run).card.metrics.get("test_accuracy", float("nan"))
    found = vitlab.explain(asked.run, fidelity=True, count=asked.count).answer
    assert isinstance(found, Fidelity)
    print(found)
    methods = [score for score in found.scores if score.method != "random"]
    best = found.scores[0]
    for words, held in (
        (
            f"the model has {accuracy:.1%} of the test images right, at least {LEAST_ACCURACY:.0%}",
            accuracy >= LEAST_ACCURACY,
        ),
        (f"{len(methods)} methods, at least {LEAST_METHODS}", len(methods) >= LEAST_METHODS),
        (f"{best.method} gains {best.gain} over a ranking by lot, above zero", best.gain.low > 0),
    ):
        print(f"{'yes' if held else 'NO ':3} {words}")


if __name__ == "__main__":
    main()
