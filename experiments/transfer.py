"""Transfer: a small ViT trained on five classes of CIFAR-10, fine-tuned on the other five with few labels.

    python experiments/transfer.py               # half an hour on two cores; CIFAR-10 lies in $VITLAB_DATA
    python experiments/transfer.py --held-out    # the same on a tenth of the training images, to choose settings by
    python experiments/transfer.py --quick       # a few minutes: does it run at all

Each half has two vehicles and three animals. The model from scratch has the same shape, labels, variation and number of
epochs. A label is a label: a tenth of them is held out for validation in every run.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from measured import cifar10, interval, train

FIRST = ("airplane", "bird", "deer", "frog", "ship")
SECOND = ("automobile", "cat", "dog", "horse", "truck")
SHAPE = (
    "--model", "vit_cifar_small_patch4_32", "--change", "width=128", "depth=6", "block.attention.heads=4",
    'init={"kind":"xavier","vectors":"unit"}', "--dropout", "0",
)  # fmt: skip
LIGHT = ("--entry", 'augment=[{"kind":"pad_crop","pixels":4},{"kind":"flip"}]')
WAYS = {
    "from scratch": None,
    "head only": ("--freeze", "all", "--rate", "3e-3"),
    "last 2 of 6 blocks": ("--freeze", "4", "--entry", 'rates="even"', "--rate", "5e-4"),
    "all, slower below": ("--entry", 'rates={"kind":"layers","decay":0.75}', "--rate", "5e-4"),
    "all, 1e-5 1e-4 1e-3": ("--entry", 'rates="parts"', "--rate", "1e-3"),
}


def main() -> None:
    """Pretrain once, then print a row for each way and share of labels."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--held-out", action="store_true")
    asked.add_argument("--quick", action="store_true")
    flags = asked.parse_args()
    many, first_epochs, seeds = (500, 3, 2) if flags.quick else (None, 12, 3)
    images = cifar10(flags.held_out)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = images.write(folder / "first", FIRST, many)
        begun = train(first, folder / "begun", *SHAPE, "--recipe", "cifar", "--epochs", str(first_epochs), *LIGHT)
        print(
            f"pretrained on {', '.join(FIRST)}: {begun.accuracy:.1%} of them right, {begun.seconds:.0f} s\n", flush=True
        )
        print(f"{'labels':>6} {'way':20} {'accuracy':>14} {'gain over scratch':>18} {'seconds':>8} {'MiB':>6}")
        for share, each, epochs in (("1 %", 50, 40), ("10 %", 500, 10)):
            scratch: list[float] = []
            for way, how in WAYS.items():
                found = []
                for seed in range(seeds):
                    data = folder / f"{each}-{seed}"
                    if not data.exists():
                        images.write(data, SECOND, each, seed)
                    start = SHAPE if how is None else ("--from", str(begun.folder), *how)
                    recipe = ("--recipe", "finetune", "--epochs", str(epochs), "--batch", "32", "--seed", str(seed))
                    rate = ("--rate", "1e-3", "--entry", 'rates="even"') if how is None else ()
                    out = folder / f"{each}-{seed}-{list(WAYS).index(way)}"
                    found.append(train(data, out, *start, *recipe, *rate))
                right = [run.accuracy for run in found]
                scratch = scratch or right
                gain = interval([one - other for one, other in zip(right, scratch, strict=True)]) if how else ""
                seconds = statistics.mean(run.seconds for run in found)
                memory = max(run.mebibytes for run in found)
                print(f"{share:>6} {way:20} {interval(right)} {gain:>18} {seconds:>8.0f} {memory:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
