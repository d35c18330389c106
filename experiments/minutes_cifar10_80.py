"""CIFAR-10 to 80 % within ten minutes, from scratch: the compact model and its recipe, as they are.

python experiments/minutes_cifar10_80.py
"""

from minutes import Timed, run

RUN = Timed(
    name="cifar10_80",
    flags=("cifar10", "--model", "vit_compact_32", "--recipe", "compact", "--epochs", "4"),
    accuracy=0.80,
    minutes=10,
    seeds=(0, 1),
)

if __name__ == "__main__":
    run(RUN)
