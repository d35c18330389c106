"""A folder of small photographs, and what turns it into batches."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from vitlab.data.augment.apply import augment, read_steps
from vitlab.data.feed.feed import Feed
from vitlab.data.feed.loader import Loader
from vitlab.data.order import ShuffledBatches
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.folder import folder
from vitlab.data.sources.source import Samples

SIZE = (32, 32)
PREPROCESS = Preprocess(size=SIZE, mean=(0.5,) * 3, std=(0.2,) * 3, stored=64)
STEPS = read_steps([{"kind": "resized_crop"}, {"kind": "flip"}, {"kind": "rand_augment"}, {"kind": "mix"}], "augment")
BROKEN = b"\xff\xd8\xff\xe0 no picture"


def photo(seed: int, rows: int, columns: int) -> Image.Image:
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((columns, rows), Image.Resampling.BICUBIC)


def make(root: Path, count: int = 40, classes: int = 2) -> Samples:
    draw = np.random.default_rng(7)
    for i in range(count):
        path = root / f"class{i % classes}" / f"{i:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        photo(i, *draw.integers(40, 160, 2).tolist()).save(path, quality=92)
    return folder(root).splits["train"]


def batches(feed: Feed, taken: int = 3, epochs: int = 2, batch: int = 8, seed: int = 0) -> torch.Tensor:
    """Everything that the model would be shown, targets left out."""
    order = ShuffledBatches(len(feed), batch, seed)
    loader = Loader(feed, order, SIZE, 3, STEPS, taken)
    found = []
    for epoch in range(epochs):
        order.set_epoch(epoch)
        for raw in loader:
            varied, _ = augment(STEPS, raw.images, raw.labels, 2, raw.draws)
            found.append(PREPROCESS.normalise(varied))
    return torch.stack(found)
