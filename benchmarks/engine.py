"""What the whole engine costs over the bare step: images fed and varied, average, log, progress, page, checkpoints.

    OMP_NUM_THREADS=2 python benchmarks/engine.py [EPOCHS]

Epochs of the engine and as many bare steps of the same model on the same batch take turns in one process; the median
of the ratios counts. An epoch here is ten steps with a checkpoint after them, where a real one has hundreds, so
checkpoints cost more than in a real run; the gradient is clipped, which the bare step does not do. Validation, which is
no overhead, is left out. Leave the machine alone.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from vitlab.commands.ending import describe
from vitlab.commands.live import drawn
from vitlab.data.origin import Origin
from vitlab.models.blueprint import Model
from vitlab.models.cost import cost
from vitlab.training.fit import fit
from vitlab.training.keeper import Often
from vitlab.training.machine import autocast
from vitlab.training.plan import Plan
from vitlab.training.resolve import Request, resolve

NAME, SIDE, CLASSES, BATCH, STEPS, THREADS = "vit_cifar_small_patch4_32", 32, 10, 128, 10, 2


def pictures(top: Path) -> None:
    """Class folders of noise, as many images as the steps of an epoch take."""
    draw = np.random.default_rng(0)
    for split, count in (("train", STEPS * BATCH), ("val", CLASSES), ("test", CLASSES)):
        for number in range(count):
            path = top / split / f"class{number % CLASSES}" / f"{number:05d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draw.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)).save(path)


class Turns:
    """Called at the end of each epoch of the engine, it takes as many bare steps."""

    def __init__(self, plan: Plan) -> None:
        self.model = plan.blueprint.build().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.images, self.labels = torch.randn(BATCH, 3, SIDE, SIDE), torch.randint(0, CLASSES, (BATCH,))
        self.machine = plan.machine
        self.engine: list[float] = []
        self.bare: list[float] = []
        self.since = time.perf_counter()

    def __call__(self, model: Model, epoch: int) -> None:
        begin = time.perf_counter()
        self.engine.append(begin - self.since)
        for _ in range(STEPS):
            self.step()
        self.since = time.perf_counter()
        self.bare.append(self.since - begin)

    def step(self) -> None:
        with autocast(self.machine.device, self.machine.precision):
            loss = functional.cross_entropy(self.model(self.images).float(), self.labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def main(epochs: int) -> None:
    """Measure and print."""
    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as top:
        pictures(Path(top) / "images")
        changes = {"epochs": epochs + 1, "batch": BATCH}
        origin = Origin(str(Path(top) / "images"))
        ready = resolve(Request(origin, model=NAME, recipe="cifar", recipe_changes=changes, threads=THREADS))
        turns, run = Turns(ready.plan), Path(top) / "run"
        run.mkdir()
        describe(ready.plan, cost(ready.plan.blueprint, BATCH, ready.plan.machine.precision), run)
        with drawn(run) as page:
            often, train = Often(steps=STEPS), {"train": ready.splits["train"]}
            fit(ready.plan, train, run, often=often, look=turns, tell=page.training)
    machine, images = ready.plan.machine, STEPS * BATCH
    print(f"{NAME}, batch {BATCH}, {THREADS} threads, {machine.precision}, torch {torch.__version__}")
    print(f"{'epoch':>5} {'bare step, images/s':>20} {'engine, images/s':>17} {'overhead':>9}")
    ratios = [engine / bare for engine, bare in zip(turns.engine[1:], turns.bare[1:], strict=True)]
    for number, (engine, bare) in enumerate(zip(turns.engine[1:], turns.bare[1:], strict=True), 1):
        print(f"{number:>5} {images / bare:>20.1f} {images / engine:>17.1f} {engine / bare - 1:>9.1%}")
    print(f"median overhead {median(ratios) - 1:.1%}; wanted: at most 8 %")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
