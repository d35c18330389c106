"""What variation costs beside the training step that it feeds, on batches of CIFAR-10's size in memory.

    python benchmarks/augment.py

Prints milliseconds for a batch of 128, step by step and all together, and their share of a training step of
`vit_cifar_small_patch4_32` in bfloat16. At most 3 % is the aim. Leave the machine alone meanwhile.
"""

import time
from collections.abc import Callable

import torch

from vitlab.data.augment.apply import augment, read_steps
from vitlab.data.augment.draws import Draws
from vitlab.models.registry import create
from vitlab.training.machine import autocast
from vitlab.training.recipe import RECIPES

BATCH, ROUNDS = 128, 7


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds, after one to warm up."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Measure and print."""
    images = torch.randint(0, 256, (BATCH, 3, 32, 32), dtype=torch.uint8)
    labels = torch.randint(0, 10, (BATCH,))
    model = create("vit_cifar_small_patch4_32").train()

    def step() -> None:
        with autocast("cpu", "bfloat16"):
            loss = torch.nn.functional.cross_entropy(model(images / 255), labels)
        loss.backward()
        model.zero_grad()

    whole = best(step)
    print(f"{'step':<14} {'ms':>8} {'of the training step':>21}")
    recipe = RECIPES["cifar"].augment
    for name, steps in [*((entry["kind"], [entry]) for entry in recipe), ("all", list(recipe))]:
        found = read_steps(steps, "recipe.augment")
        seconds = best(lambda found=found: augment(found, images, labels, 10, Draws(0, 0)))
        print(f"{name:<14} {1000 * seconds:>8.2f} {seconds / whole:>21.2%}")
    print(f"{'training step':<14} {1000 * whole:>8.2f}  ({BATCH / whole:.0f} images/s)")


if __name__ == "__main__":
    main()
