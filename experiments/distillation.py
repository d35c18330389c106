"""Distillation: a small DeiT on CIFAR-10 with and without a ResNet as its teacher, for the same number of epochs.

    python experiments/distillation.py               # about 40 minutes on one core; CIFAR-10 lies in $VITLAB_DATA
    python experiments/distillation.py --held-out    # the same on a tenth of the training images, to choose settings by
    python experiments/distillation.py --quick       # 5 minutes: does it run at all

Both students are the same DeiT with two tokens and two heads; without a teacher both heads learn the labels. Teacher
and students see the same images, 2,000 of each class: the teacher varied anew in each epoch, the students as they are,
so that the teacher answers once and its answers are looked up. Tested on 500 images of each class.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from measured import cifar10, interval, train

STUDENT = (
    "--model", "deit_tiny_distilled_patch16_224", "--size", "32", "--change", "patch.size=4", "width=64", "depth=3",
    "block.attention.heads=2", 'init={"kind":"xavier","vectors":"unit"}', "--recipe", "cifar", "--entry", "augment=[]",
    "--batch", "64", "--rate", "2e-3", "--drop-path", "0",
)  # fmt: skip
TEACHER = (
    "--model", "resnet18_cifar_32", "--change", "width=24", "depths=[1,1,1,1]", "--recipe", "compact", "--batch", "125",
)  # fmt: skip
WAYS = {
    "no teacher": (),
    "hard targets": (),
    "soft targets, t = 3": ("--temperature", "3"),
}


def main() -> None:
    """Train the teacher once, then print a row for each kind of student."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--held-out", action="store_true")
    asked.add_argument("--quick", action="store_true")
    flags = asked.parse_args()
    each, longer, epochs, seeds = (200, 2, 2, 2) if flags.quick else (2_000, 4, 5, 3)
    images = cifar10(flags.held_out)
    common = ("--precision", "float32", "--no-cache")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = images.write(folder / "images", images.source.classes, each, test=500)
        teacher = train(data, folder / "teacher", *TEACHER, *common, "--epochs", str(longer))
        print(f"teacher: {teacher.accuracy:.1%}, {teacher.seconds:.0f} s\n", flush=True)
        print(f"{'student':22} {'accuracy':>14} {'gain':>16} {'seconds':>8} {'MiB':>6}")
        alone: list[float] = []
        for way, how in WAYS.items():
            taught = () if way == "no teacher" else ("--teacher", str(teacher.folder), *how)
            student = (*STUDENT, *common, "--epochs", str(epochs))
            found = [
                train(data, folder / f"{list(WAYS).index(way)}-{seed}", *student, *taught, "--seed", str(seed))
                for seed in range(seeds)
            ]
            right = [run.accuracy for run in found]
            alone = alone or right
            gain = interval([one - other for one, other in zip(right, alone, strict=True)]) if taught else ""
            seconds, memory = statistics.mean(run.seconds for run in found), max(run.mebibytes for run in found)
            print(f"{way:22} {interval(right)} {gain:>16} {seconds:>8.0f} {memory:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
