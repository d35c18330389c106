"""What it costs to record attention: a forward pass with the last layer recorded, against the same without.

    python benchmarks/recording.py

Expected: one layer recorded costs less than 10 % of the pass, and not a bit of the logits moves. Passes are timed by
turns and compared by their medians. Leave the machine alone meanwhile.
"""

import statistics
import time
from collections.abc import Callable

import torch

import vitlab
from vitlab.explain.record import recording

SITUATIONS = (("vit_cifar_small_patch4_32", 64), ("vit_tiny_patch16_224", 8), ("vit_small_patch16_224", 4))
ROUNDS = 15


def main() -> None:
    """Print a row a model."""
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, float32, evaluation, {ROUNDS} passes each")
    print(
        f"{'model':<26} {'batch':>5} {'plain ms':>9} {'one layer':>10} {'all layers':>11} {'with its map':>13} logits"
    )
    for name, batch in SITUATIONS:
        torch.manual_seed(0)
        model = vitlab.create(name).eval()
        images = torch.randn(batch, 3, *model.blueprint.image)
        ways: dict[str, Callable[[], torch.Tensor]] = {
            "plain": lambda model=model, images=images: model(images),
            "one": lambda model=model, images=images: recorded(model, images, (-1,)),
            "all": lambda model=model, images=images: recorded(model, images, None),
            "map": lambda model=model, images=images: recorded(model, images, (-1,), map_too=True),
        }
        with torch.inference_mode():
            same = all(torch.equal(way(), model(images)) for way in ways.values())
            taken: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, run in ways.items():
                    start = time.perf_counter()
                    run()
                    taken[way].append(time.perf_counter() - start)
        middle = {way: statistics.median(times) for way, times in taken.items()}
        more = {way: f"{100 * (middle[way] / middle['plain'] - 1):+.1f} %" for way in ways}
        print(
            f"{name:<26} {batch:>5} {1000 * middle['plain']:>9.1f} {more['one']:>10} {more['all']:>11} "
            f"{more['map']:>13} {'the same bits' if same else 'CHANGED'}"
        )


def recorded(
    model: torch.nn.Module, images: torch.Tensor, layers: tuple[int, ...] | None, map_too: bool = False
) -> torch.Tensor:
    """A pass with layers recorded."""
    with recording(model, layers) as seen:
        logits = model(images)
    if map_too:
        seen[-1].map  # noqa: B018  computed when asked for
    return logits


if __name__ == "__main__":
    main()
