"""Which attention kernel is faster here: seconds of a forward and backward pass, plain against fused.

    python benchmarks/attention.py

Prints a table of ratios by dtype and length. The rule in `parts/kernels.py` where nothing was measured is taken from
it. Leave the machine alone meanwhile.
"""

import torch

from vitlab.parts import kernels

LENGTHS = (17, 50, 65, 197, 257, 577, 1025)
HEADS, HEAD_WIDTH, TOKENS_A_BATCH = 3, 64, 8192


def main() -> None:
    """Measure each situation and print plain against fused."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads, {HEADS} heads of {HEAD_WIDTH}")
    print(f"{'dtype':<10} {'tokens':>6} {'batch':>6} {'plain ms':>9} {'fused ms':>9} {'fused / plain':>14} {'rule':>6}")
    for dtype in (torch.float32, torch.bfloat16):
        for length in LENGTHS:
            batch = max(TOKENS_A_BATCH // length, 1)
            seconds = kernels.measure(device, dtype, length, HEADS, HEAD_WIDTH, batch)
            rule = kernels.rule(device, dtype, length)
            print(
                f"{str(dtype).removeprefix('torch.'):<10} {length:>6} {batch:>6} {1000 * seconds['plain']:>9.2f} "
                f"{1000 * seconds['fused']:>9.2f} {seconds['fused'] / seconds['plain']:>14.2f} {rule:>6}"
            )


if __name__ == "__main__":
    main()
