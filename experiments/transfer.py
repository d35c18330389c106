"""Transfer: a small ViT trained on five classes of CIFAR-10, fine-tuned on the other five with few labels.

    python experiments/transfer.py               # about 40 minutes on one core; CIFAR-10 lies in $VITLAB_DATA
    python experiments/transfer.py --held-out    # the same on a tenth of the training images, to choose settings by
    python experiments/transfer.py --quick       # 5 minutes: does it run at all

Each half has two vehicles and three animals. Every way has the recipe that the model began with and sees as many images
in as many steps, about 280, from scratch too. A label is a label: a tenth of them is held out for validation in every
run. Tested on 500 images of each class.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from measured import cifar10, interval, train

FIRST = ("airplane", "bird", "deer", "frog", "ship")
SECOND = ("automobile", "cat", "dog", "horse", "truck")
SHAPE = (
    "--model", "vit_compact_32", "--change", "width=96", "block.attention.heads=3", "patch.widths=[48]",
    "patch.convolutions=1", "--recipe", "compact",
)  # fmt: skip
TUNED = ("--recipe", "compact")
WAYS = {
    "from scratch": SHAPE,
    "head only": (*TUNED, "--freeze", "all"),
    "last 3 of 4 blocks": (*TUNED, "--freeze", "1"),
    "all, slower below": (*TUNED, "--entry", 'rates={"kind":"layers","decay":0.75}'),
    "all, 0.01 0.1 1": (*TUNED, "--entry", 'rates="parts"'),
    "LoRA, rank 8": (*TUNED, "--lora", "8", "--entry", "optimizer=adamw", "--rate", "1e-2"),
}


def main() -> None:
    """Pretrain once, then print a row for each way and share of labels."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--held-out", action="store_true")
    asked.add_argument("--quick", action="store_true")
    flags = asked.parse_args()
    many, seeds = (500, 2) if flags.quick else (None, 3)
    common = ("--precision", "float32", "--no-cache")
    images = cifar10(flags.held_out)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = images.write(folder / "first", FIRST, many, test=500)
        begun = train(first, folder / "begun", *SHAPE, *common, "--epochs", "3", "--batch", "125")
        print(
            f"pretrained on {', '.join(FIRST)}: {begun.accuracy:.1%} of them right, {begun.seconds:.0f} s\n", flush=True
        )
        print(f"{'labels':>6} {'way':20} {'accuracy':>14} {'gain over scratch':>18} {'seconds':>8} {'MiB':>6}")
        for share, each, epochs, batch in (("1 %", 50, 20, 16), ("10 %", 500, 4, 32)):
            scratch: list[float] = []
            for way, how in WAYS.items():
                found = []
                for seed in range(seeds):
                    data = folder / f"{each}-{seed}"
                    if not data.exists():
                        images.write(data, SECOND, each, seed, test=500)
                    start = () if how == SHAPE else ("--from", str(begun.folder))
                    length = ("--epochs", str(epochs), "--batch", str(batch), "--seed", str(seed))
                    out = folder / f"{each}-{seed}-{list(WAYS).index(way)}"
                    found.append(train(data, out, *start, *how, *common, *length))
                right = [run.accuracy for run in found]
                scratch = scratch or right
                gain = (
                    "" if how == SHAPE else interval([one - other for one, other in zip(right, scratch, strict=True)])
                )
                seconds = statistics.mean(run.seconds for run in found)
                memory = max(run.mebibytes for run in found)
                print(f"{share:>6} {way:20} {interval(right)} {gain:>18} {seconds:>8.0f} {memory:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
