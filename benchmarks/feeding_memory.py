"""Whether memory stays flat as data grow: peak memory of an epoch streamed from folders of 10,000 and 100,000 files.

    python benchmarks/feeding_memory.py                        # a few minutes
    python benchmarks/feeding_memory.py --counts 1000 10000    # shorter

Files are links to a few JPEGs, so that the disk holds little; each is read and decoded by itself. One process for each
count opens the folder, holds out its splits, looks at pictures, feeds one epoch and tells its peak.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

LIMIT = 1.10
SIZE, BATCH, CLASSES, DIFFERENT = (64, 64), 128, 10, 20


def make(top: Path, count: int) -> None:
    """Class folders of links to a few pictures."""
    files = []
    for i in range(DIFFERENT):
        coarse = np.random.default_rng(i).integers(0, 256, (12, 12, 3), dtype=np.uint8)
        files.append(top / f"{i}.jpg")
        Image.fromarray(coarse).resize((160, 120)).save(files[-1])
    for number in range(CLASSES):
        (top / "train" / f"class{number}").mkdir(parents=True)
    for i in range(count):
        (top / "train" / f"class{i % CLASSES}" / f"a_name_as_long_as_they_are_{i:08d}.jpg").hardlink_to(
            files[i % DIFFERENT]
        )


def epoch(top: Path) -> None:
    """What a run does with its data, without the model; prints MiB and images."""
    from vitlab.data.augment.apply import augment, read_steps
    from vitlab.data.feed.choose import open_feed
    from vitlab.data.feed.loader import Loader
    from vitlab.data.look import look
    from vitlab.data.module import DataModule  # noqa: F401  a run has Lightning in memory too
    from vitlab.data.order import BatchesInOrder, ShuffledBatches
    from vitlab.data.origin import Origin
    from vitlab.data.preprocess import Preprocess
    from vitlab.data.splits import open_splits

    preprocess = Preprocess(size=SIZE, mean=(0.5,) * 3, std=(0.2,) * 3, stored=2 * SIZE[0])
    steps = read_steps([{"kind": "resized_crop"}, {"kind": "flip"}], "augment")
    source = open_splits(Origin(str(top)))
    train = open_feed(source.splits["train"], preprocess, "stream", look(source.splits["train"]))
    val = open_feed(source.splits["val"], preprocess, "stream")
    train.statistics()
    images = 0
    for raw in Loader(train, ShuffledBatches(len(train), BATCH, 0), SIZE, 3, steps, len(steps)):
        varied, _ = augment(steps, raw.images, raw.labels, CLASSES, raw.draws)
        images += len(preprocess.normalise(varied))
    for raw in Loader(val, BatchesInOrder(len(val), BATCH), SIZE, 3):
        images += len(preprocess.normalise(raw.images))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, images)


def main() -> None:
    """Measure each count in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--of", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.of is not None:
        epoch(asked.of)
        return
    first = 0.0
    print(f"{'files':>10} {'images fed':>10} {'peak MiB':>10} {'of the first':>12}")
    for count in asked.counts:
        top = Path(tempfile.mkdtemp(prefix="feeding_memory."))
        try:
            make(top, count)
            command = [sys.executable, __file__, "--of", str(top / "train")]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        finally:
            shutil.rmtree(top)
        peak, images = map(float, done.stdout.split())
        first = first or peak
        print(f"{count:>10,} {images:>10,.0f} {peak:>10.0f} {peak / first:>12.3f}", flush=True)
        if peak > LIMIT * first:
            raise SystemExit(f"more than {LIMIT:.2f} of the first")


if __name__ == "__main__":
    main()
