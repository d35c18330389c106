"""A run that is killed while its images are streamed, or while a cache of them fills, ends as if nothing had happened.

Another process goes on, which has opened the data anew, knows of no bad picture yet and finds the cache as it was left.
"""

import csv
import multiprocessing
import os
import signal
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.data.feed.photos import BROKEN, make
from tests.data_sources.tarred import write_shard
from vitlab.data.feed import choose, feeding
from vitlab.data.origin import Origin
from vitlab.training.fit import fit
from vitlab.training.keeper import Often
from vitlab.training.learner import Learner
from vitlab.training.plan import Plan
from vitlab.training.resolve import Request, replay, resolve

HERE = multiprocessing.get_context("fork")
TINY = {"depth": 1, "width": 12, "block__attention__heads": 2, "dropout": 0.1}
CROPS = ({"kind": "resized_crop"}, {"kind": "flip"}, {"kind": "rand_augment"}, {"kind": "mix"})
PADS = ({"kind": "pad_crop"}, {"kind": "mix"})


class Fed(NamedTuple):
    """A way for images to come, and what has to be true of the plan for the test to be of that way."""

    way: str
    augment: tuple[dict[str, str], ...]
    shards: bool = False
    large: int = feeding.LARGE
    taken: int = 0


WAYS = {
    "streamed shards": Fed("stream", PADS, shards=True),
    "streamed files, crops from whole pictures": Fed("stream", CROPS, taken=1),
    "cached files": Fed("cache", PADS),
    "cached files, varied one by one": Fed("cache", CROPS, large=32, taken=3),
}


class Whole(NamedTuple):
    """A run that nobody killed."""

    plan: Plan
    origin: Origin
    weights: dict[str, torch.Tensor]
    rows: list[dict[str, str]]


@pytest.fixture(scope="module", params=WAYS, ids=lambda name: name.replace(",", "").replace(" ", "-"))
def whole(request, tmp_path_factory):
    fed, top = WAYS[request.param], tmp_path_factory.mktemp("fed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "_QUARTER", 0.0)  # no memory for pictures
        patch.setattr(choose, "SMALL", 0)
        patch.setattr(feeding, "LARGE", fed.large)
        patch.setenv("VITLAB_CACHE", str(top / "cache"))
        if fed.shards:  # more of them than are opened at a time
            for number in range(24):
                write_shard(top / "images" / f"part-{number:02d}.tar", 6, first=6 * number)
        else:
            make(top / "images", count=144)
            for number in (10, 51):
                (top / "images" / f"class{number % 2}" / f"{number:03d}.jpg").write_bytes(BROKEN)
        origin = Origin(str(top / "images"))
        changes = {"epochs": 3, "batch": 16, "augment": fed.augment}
        ready = resolve(
            Request(
                origin, model="vit_tiny_patch16_224", size=32, changes={"patch__size": 8, **TINY},
                recipe_changes=changes, device="cpu", precision="float32", threads=1, cached=fed.way == "cache",
            )
        )  # fmt: skip
        assert (ready.plan.feeding.train, ready.plan.feeding.taken) == (fed.way, fed.taken)
        assert ready.plan.steps >= 15
        (top / "run").mkdir()
        weights = fit(ready.plan, ready.splits, top / "run", quiet=True).state_dict()
        yield Whole(ready.plan, origin, weights, rows(top / "run"))


def rows(folder: Path) -> list[dict[str, str]]:
    """`metrics.csv` without what a clock says."""
    with (folder / "metrics.csv").open() as file:
        return [
            {k: v for k, v in row.items() if k not in ("seconds", "images_per_second")} for row in csv.DictReader(file)
        ]


def killed(whole: Whole, folder: Path, step: int) -> None:
    """The run in another process, which is gone when it comes to that step."""
    compute = Learner.training_step

    def die(self, batch, batch_idx):
        if self.trainer.fit_loop.total_batch_idx == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return compute(self, batch, batch_idx)

    def work() -> None:
        Learner.training_step = die
        fit(whole.plan, replay(whole.plan, whole.origin).splits, folder, quiet=True, often=Often(steps=2))

    child = HERE.Process(target=work)
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("step", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_it_ends_with_the_same_bits(whole, tmp_path, monkeypatch, step):
    """In the first epoch, when a part of the pictures was seen; in a later one, when all of them were."""
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "cache"))
    run = tmp_path / "run"
    run.mkdir()
    killed(whole, run, step)
    assert list((run / "checkpoints").glob("step-*"))
    assert bool(list((tmp_path / "cache").rglob("pixels"))) == (whole.plan.feeding.train == "cache")
    torch.manual_seed(99)
    ready = replay(whole.plan, whole.origin)
    found = fit(ready.plan, ready.splits, run, quiet=True, often=Often(steps=2)).state_dict()
    assert all(torch.equal(found[name], expected) for name, expected in whole.weights.items())
    assert rows(run) == whole.rows
