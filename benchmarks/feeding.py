"""How fast a folder of JPEGs becomes augmented batches of 224 pixels: vitlab beside torchvision's and timm's loaders.

    python benchmarks/feeding.py                 # 10,000 images of about 500x400, then 10,000 of 32x32
    python benchmarks/feeding.py --images 1000   # shorter

The images are made here, of noise at several scales, so that they take as many bytes as photographs do. All are read
once before, so nobody waits for the disk. vitlab keeps the whole pictures (a shorter side of 448 at most, which leaves
these as they are) as bytes in a mapped file; its first epoch writes that file.

A virtual machine may get its memory from its host page by page, ten times as slowly as it writes to memory that it has,
and give it back when idle. So nearly all that is free is written to before each contestant begins; `--cold` leaves that
out. Leave the machine alone meanwhile.
"""

import argparse
import json
import mmap
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from vitlab.data.augment.apply import augment, read_steps
from vitlab.data.blocks import Blocks
from vitlab.data.feed.choose import open_feed
from vitlab.data.feed.feeding import steps_taken
from vitlab.data.feed.loader import Loader
from vitlab.data.look import look
from vitlab.data.order import ShuffledBatches
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.folder import folder as open_folder

SIZE, CLASSES = (224, 224), 10
PEERS = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
CROP, RAND = [{"kind": "resized_crop"}, {"kind": "flip"}], [{"kind": "rand_augment"}]


def picture(number: int, columns: int, rows: int) -> Image.Image:
    """Noise at several scales, coarse ones strongest, as in photographs; sizes vary by a tenth."""
    draw = np.random.default_rng(number)
    columns, rows = (round(side * draw.uniform(0.9, 1.1)) if side > 64 else side for side in (columns, rows))
    total = np.full((rows, columns, 3), 128.0, dtype=np.float32)
    for cells, strength in ((3, 45), (12, 30), (48, 18), (150, 9)):
        if cells < min(columns, rows):
            coarse = draw.normal(0, strength, (cells, cells, 3)).clip(-127, 127) + 128
            total += np.asarray(Image.fromarray(coarse.astype(np.uint8)).resize((columns, rows)), np.float32) - 128
    total += draw.normal(0, 3, total.shape)
    return Image.fromarray(total.clip(0, 255).astype(np.uint8))


def make(top: Path, count: int, columns: int, rows: int) -> int:
    """Class folders of JPEGs below `top`, as many bytes as are told; what is there already stays."""

    def one(number: int) -> int:
        path = top / f"class{number % CLASSES}" / f"{number:06d}.jpg"
        if not path.is_file():
            picture(number, columns, rows).save(path, quality=90)
        return len(path.read_bytes())

    for number in range(CLASSES):
        (top / f"class{number}").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(one, range(count)))


def ours(top: Path, entries: list[dict], batch: int, epochs: int, way: str) -> list[float]:
    """Images a second of each epoch, up to what the model takes."""
    samples = open_folder(top).splits["train"]
    preprocess = Preprocess(size=SIZE, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), stored=2 * SIZE[0])
    steps, blocks = read_steps(entries, "augment"), Blocks()
    order = ShuffledBatches(len(samples), batch, seed=0)
    taken, _ = steps_taken(SIZE, "cpu", steps, whole=True)
    speeds = []
    start = time.perf_counter()
    loader = Loader(open_feed(samples, preprocess, way, look(samples)), order, SIZE, 3, steps, taken)
    for epoch in range(epochs):
        order.set_epoch(epoch)
        images = 0
        for raw in loader:
            varied, _ = augment(steps, raw.images, raw.labels, CLASSES, raw.draws)
            images += len(preprocess.normalise(varied, blocks))
        speeds.append(images / (time.perf_counter() - start))
        start = time.perf_counter()
    return speeds


def touch() -> None:
    """Have the machine hold nearly all memory that is free, and let go of it again."""
    with Path("/proc/meminfo").open() as lines:
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    np.empty(free * 9 // 10, np.uint8)[:: mmap.PAGESIZE] = 1


def theirs(top: Path, peer: str, randaugment: bool, batch: int) -> tuple[float, str]:
    """Images a second of a peer's loader, and how it was set up."""
    command = [PEERS, Path(__file__).with_name("feeding_peers.py"), top, peer, str(int(randaugment)), str(batch)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=_plain())
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    found = json.loads(done.stdout.splitlines()[-1])
    order = ", on tensors" if found["on_tensors"] else ""
    return found["images_per_second"], f"{peer}, {found['workers']} workers{order}"


def _plain() -> dict[str, str]:
    """Our environment without the path to our own packages."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def main() -> None:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--sides", nargs="*", default=["500x400", "32x32"])
    parser.add_argument("--folder", type=Path, help="where to keep the images for another time")
    parser.add_argument("--cold", action="store_true", help="memory as the machine has it")
    asked = parser.parse_args()
    below = asked.folder or Path(tempfile.mkdtemp(prefix="feeding."))
    os.environ["VITLAB_CACHE"] = str(below / "cache")
    ready = (lambda: None) if asked.cold else touch
    for sides in asked.sides:
        top = below / f"{sides}-{asked.images}"
        size = make(top, asked.images, *map(int, sides.split("x")))
        print(f"\n{asked.images:,} JPEGs of about {sides}, {size / asked.images / 1000:.1f} kB each; images/s")
        for entries, named in ((CROP, "crop and flip"), (CROP + RAND, "crop, flip and RandAugment")):
            shutil.rmtree(below / "cache", ignore_errors=True)
            peers = []
            for peer in ("torchvision", "timm"):
                ready()
                peers.append(theirs(top, peer, entries != CROP, asked.batch))
            ready()
            first, *later = ours(top, entries, asked.batch, asked.epochs, "cache")
            streamed = ours(top, entries, asked.batch, 1, "stream")[0]
            print(f"  {named}")
            for found, what in peers:
                print(f"    {found:8.0f}  {what}")
            best = max(found for found, _ in peers)
            for found, what in ((first, "first epoch"), (max(later), "later epochs"), (streamed, "streamed")):
                print(f"    {found:8.0f}  vitlab, {what}: {found / best:.2f} of the faster one", flush=True)
    if asked.folder is None:
        shutil.rmtree(below)


if __name__ == "__main__":
    main()
