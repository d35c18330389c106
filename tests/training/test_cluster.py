"""Two processes train as one does on the same batches: the same weights, average and figures.

The processes are children of this one, told what torchrun would tell them; they talk over 127.0.0.1.
"""

import csv
import multiprocessing
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.training import checkpoint, cluster
from vitlab.training.fit import fit
from vitlab.training.keeper import Often
from vitlab.training.learner import Learner
from vitlab.training.resolve import Ready, Request, resolve

HERE = multiprocessing.get_context("fork")
BY_THE_CLOCK = ("seconds", "images_per_second")


def ready(precision: str = "float64", **asked: Any) -> Ready:
    """Twenty steps without anything drawn at random, but the order of images, nor clipped: a sum is no mean then."""
    found = resolve(
        Request(
            Origin("digits"),
            changes={"depth": 2, "width": 12, "block__attention__heads": 2, "dropout": 0.0},
            recipe_changes={"epochs": 2, "batch": 128, "ema": 0.8, "clip": None, "drop_path": 0.0, "augment": ()},
            device="cpu",
            precision="float32",
            threads=1,
            **asked,
        )
    )
    machine = found.plan.machine.model_copy(update={"precision": precision})
    return Ready(found.plan.model_copy(update={"machine": machine}), found.splits)


def together(found: Ready, folder: Path, often: Often = Often(), spoil: Any = None, attempt: int = 0) -> list[int]:  # noqa: B008
    """Two processes train; the code with which each ends. One that a lost one waits for is ended, as torchrun does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work(rank: int) -> None:
        os.environ |= {
            "TORCHELASTIC_RUN_ID": "test", "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GROUP_RANK": "0",
            "TORCHELASTIC_RESTART_COUNT": str(attempt), "GLOO_SOCKET_IFNAME": "lo",
        }  # fmt: skip
        if spoil is not None:
            spoil(rank)
        fit(found.plan, found.splits, folder, quiet=True, often=often)

    children = [HERE.Process(target=work, args=(rank,)) for rank in range(2)]
    for child in children:
        child.start()
    for child in reversed(children):
        child.join(60)
        if child.exitcode != 0:
            children[0].kill()
    for child in children:
        child.join()
    return [child.exitcode or 0 for child in children]


def rows(folder: Path) -> list[dict[str, float]]:
    with (folder / "metrics.csv").open() as file:
        return [
            {name: float(row[name]) for name in row if row[name] and name not in BY_THE_CLOCK}
            for row in csv.DictReader(file)
        ]


def differ(one: Path, other: Path) -> float:
    """The largest difference of any weight, average, and memory of the optimizer."""
    found = [checkpoint.newest(folder / "checkpoints") for folder in (one, other)]
    first, second = (kept.tensors for kept in found if kept is not None)
    assert first.keys() | second.keys() == first.keys() | {"random/1/torch"}
    kinds = ("model", "average", "optimizer")
    assert {name.partition("/")[0] for name in first} >= set(kinds)
    return max(float((first[name].double() - second[name].double()).abs().max())
               for name in first if name.startswith(kinds))  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    found = ready()
    assert found.plan.steps == 20
    fit(found.plan, found.splits, folder, quiet=True)
    return folder


@pytest.mark.parametrize(
    ("strategy", "accumulate"), [("ddp", 1), pytest.param("ddp", 2, marks=pytest.mark.slow), ("fsdp", 1)]
)
def test_two_processes_do_what_one_does(tmp_path: Path, alone: Path, strategy: Any, accumulate: int) -> None:
    found = ready(devices=2, strategy=strategy, accumulate=accumulate)
    assert found.plan.micro_batch * 2 * accumulate == 128
    assert together(found, tmp_path) == [0, 0]
    assert differ(alone, tmp_path) < 1e-8
    if accumulate == 1:  # parts of a batch have rows of their own
        for mine, theirs in zip(rows(alone), rows(tmp_path), strict=True):
            assert mine == pytest.approx(theirs, rel=2e-6)


@pytest.mark.slow
def test_in_single_precision_gradients_are_averaged_too(tmp_path: Path) -> None:
    """There FSDP2 asks for a mean by itself, which gloo does not know."""
    norms = []
    for devices in (1, 2):
        folder = tmp_path / str(devices)
        folder.mkdir()
        found = ready("float32", devices=devices, strategy="fsdp" if devices == 2 else "auto")
        if devices == 2:
            assert together(found, folder) == [0, 0]
        else:
            fit(found.plan, found.splits, folder, quiet=True)
        kept = checkpoint.newest(folder / "checkpoints")
        assert kept is not None
        moments = [t.norm() for name, t in kept.part("optimizer").items() if name.endswith("/exp_avg")]
        norms.append(float(torch.stack(moments).norm()))
    assert norms[1] == pytest.approx(norms[0], rel=0.02)


@pytest.mark.parametrize("strategy", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_a_lost_process_is_made_up_for(tmp_path: Path, alone: Path, strategy: Any) -> None:
    """The second one is killed in the middle of an epoch; both start again, as torchrun has it."""

    def lost(rank: int) -> None:
        compute = Learner.training_step

        def killed(self: Learner, batch: Any, batch_idx: int) -> Any:
            if rank == 1 and self.global_step == 14:
                os.kill(os.getpid(), signal.SIGKILL)
            return compute(self, batch, batch_idx)

        Learner.training_step = killed  # type: ignore[method-assign]

    found = ready(devices=2, strategy=strategy)
    assert together(found, tmp_path, Often(steps=4), lost)[1] == -signal.SIGKILL
    kept = checkpoint.newest(tmp_path / "checkpoints")
    assert kept is not None
    assert (kept.state.step, kept.state.epoch, kept.state.batch) == (12, 1, 2)
    assert together(found, tmp_path, Often(steps=4), attempt=1) == [0, 0]
    assert differ(alone, tmp_path) < 1e-8
    for mine, theirs in zip(rows(alone), rows(tmp_path), strict=True):
        assert mine == pytest.approx(theirs, rel=2e-6)


def test_as_many_processes_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster.process() == cluster.Process()
    cluster.check_world(2, 1)  # torchrun is called for them
    with pytest.raises(UserError, match="--nodes 2 has to be started by torchrun"):
        cluster.check_world(2, 2)
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "RANK": "3", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert cluster.process() == cluster.Process(3, 4, 2, 0, True)
    cluster.check_world(2, 2)
    with pytest.raises(UserError, match="torchrun has started 4 processes, the run wants 4 on each of 2 machines"):
        cluster.check_world(4, 2)


def test_what_cannot_be_spread() -> None:
    for asked, sentence in (
        ({"strategy": "fsdp"}, "--strategy fsdp spreads weights over several processes"),
        ({"strategy": "fsdp", "devices": 2, "recipe_changes": {"optimizer": "muon"}}, "muon moves whole matrices"),
        ({"devices": 65}, "a batch of 64 images cannot be shared by 65 processes"),
    ):
        request = {"changes": {"depth": 1, "width": 12}, "threads": 1, "precision": "float32", **asked}
        with pytest.raises(UserError, match=sentence):
            resolve(Request(Origin("digits"), **request))
