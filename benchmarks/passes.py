"""What stands between products of matrices in a training step on a CPU: ours in C++ beside torch's, a pass at a time.

    OMP_NUM_THREADS=1 python benchmarks/passes.py

The shapes are those of `vit_cifar_small_patch4_32` in a batch of 128, in bfloat16, dropout 0.1. Milliseconds of the
process's own time, the best of many, both ways by turns; back is with the pass there.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from vitlab.files import cache_folder
from vitlab.parts import kernels
from vitlab.parts.dropout import dropout
from vitlab.parts.native import library, passes
from vitlab.parts.native.attention import parted
from vitlab.training.allocator import keep_memory

ROWS, WIDTH, HEADS, TOKENS, RATE, ROUNDS = 128 * 65, 192, 3, 65, 0.1, 40
WEIGHT, BIAS = (torch.ones(WIDTH, requires_grad=True) for _ in range(2))
Pass = Callable[[Tensor], Tensor]


def attention(kernel: str) -> Pass:
    def mixed(projected: Tensor) -> Tensor:
        return kernels.KERNELS[kernel](*parted(projected, HEADS), None, RATE)

    return mixed


def norm(x: Tensor) -> Tensor:
    return functional.layer_norm(x, (WIDTH,), WEIGHT.to(x.dtype), BIAS.to(x.dtype))


# Name, shape, ours, torch's.
PASSES: list[tuple[str, tuple[int, ...], Pass, Pass]] = [
    ("dropout", (ROWS, WIDTH), lambda x: passes.dropout(x, RATE), lambda x: dropout(x, RATE)),
    ("GELU, dropout", (ROWS, 4 * WIDTH), lambda x: passes.gelu(x, RATE), lambda x: dropout(functional.gelu(x), RATE)),
    ("layer norm", (ROWS, WIDTH), lambda x: passes.norm(x, WEIGHT, BIAS, 1e-6), norm),
    ("attention, dropout", (ROWS // TOKENS, TOKENS, 3 * WIDTH), attention("native"), attention("plain")),
]


def milliseconds(function: Pass, x: Tensor, own: bool) -> tuple[float, float]:
    """There, and there and back, once."""
    with library.used(own):
        start = time.process_time()
        out = function(x)
        there = time.process_time()
        torch.autograd.grad(out, x, torch.ones_like(out))
        return 1e3 * (there - start), 1e3 * (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    if why := library.take_up(cache_folder("native")):
        raise SystemExit(why)
    keep_memory()
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'pass':<20} {'shape':<14} {'ours':>6} {'back':>6} {'torch':>7} {'back':>6} {'ours is':>8}")
    for name, shape, ours, theirs in PASSES:
        x = torch.randn(shape).bfloat16().requires_grad_()
        best = {True: (float("inf"),) * 2, False: (float("inf"),) * 2}
        for _ in range(ROUNDS):
            for own, function in ((True, ours), (False, theirs)):
                found = milliseconds(function, x, own)
                best[own] = (min(best[own][0], found[0]), min(best[own][1], found[1]))
        (there, back), (slow_there, slow_back) = best[True], best[False]
        print(
            f"{name:<20} {'x'.join(map(str, shape)):<14} {there:>6.2f} {back:>6.2f} {slow_there:>7.2f} "
            f"{slow_back:>6.2f} {slow_back / back:>7.1f}x"
        )


if __name__ == "__main__":
    main()
