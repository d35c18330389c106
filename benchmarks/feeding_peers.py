"""The other side of `feeding.py`, run by the peers' own Python: images a second of one loader over a folder.

    .venv-peers/bin/python benchmarks/feeding_peers.py FOLDER torchvision|timm 0|1 BATCH

Takes the fastest of 0, 1 and 2 workers (for torchvision also of its two orders, on PIL images or on tensors), found on
a few batches, then feeds one whole epoch; prints JSON. Every epoch is the same work to these loaders.
"""

import itertools
import json
import sys
import time

import torch

library = torch.library.Library("torchvision", "DEF")  # its registry wheel does not load beside a CPU-only torch
for name in ("nms", "qnms"):
    library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

SIZE, PROBE = 224, 8
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def with_torchvision(folder, randaugment, batch, workers, on_tensors):
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    to_tensor = [v2.PILToTensor()]
    steps = [v2.RandomResizedCrop(SIZE), v2.RandomHorizontalFlip(), *([v2.RandAugment(2, 10)] if randaugment else [])]
    steps = to_tensor + steps if on_tensors else steps + to_tensor
    last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    data = ImageFolder(folder, v2.Compose(steps + last))
    return DataLoader(data, batch, shuffle=True, drop_last=True, num_workers=workers)


def with_timm(folder, randaugment, batch, workers, _):
    from timm.data import create_loader
    from timm.data.dataset import ImageDataset

    return create_loader(
        ImageDataset(folder), (3, SIZE, SIZE), batch, is_training=True, use_prefetcher=False, num_workers=workers,
        auto_augment="rand-m10-n2" if randaugment else None, color_jitter=None, re_prob=0.0, interpolation="bilinear",
        persistent_workers=False,
    )  # fmt: skip


def speed(loader, batches):
    """Images a second over so many batches, the start of the workers counted in."""
    start, images = time.perf_counter(), 0
    for found, _ in itertools.islice(loader, batches):
        images += len(found)
    return images / (time.perf_counter() - start)


def main():
    """Probe, measure, print."""
    folder, peer, randaugment, batch = sys.argv[1], sys.argv[2], sys.argv[3] == "1", int(sys.argv[4])
    make = {"torchvision": with_torchvision, "timm": with_timm}[peer]
    ways = [
        (workers, order) for workers in (0, 1, 2) for order in ((False, True) if peer == "torchvision" else (False,))
    ]
    probed = {way: speed(make(folder, randaugment, batch, *way), PROBE) for way in ways}
    best = max(probed, key=probed.get)
    found = speed(make(folder, randaugment, batch, *best), None)
    print(json.dumps({"images_per_second": found, "workers": best[0], "on_tensors": best[1]}))


if __name__ == "__main__":
    main()
