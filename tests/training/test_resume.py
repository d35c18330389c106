"""A run that was broken off goes on where it was, and ends as if nothing had happened: bit for bit."""

import csv
import os
import signal
from pathlib import Path

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.errors import Interrupted, UserError
from vitlab.training import checkpoint
from vitlab.training.fit import fit
from vitlab.training.keeper import Often
from vitlab.training.learner import Learner
from vitlab.training.resolve import Request, resolve

TINY = {"depth": 2, "width": 12, "block__attention__heads": 2, "dropout": 0.1}
BY_THE_CLOCK = ("seconds", "images_per_second")
OFTEN = Often(steps=3)
STAGES = [{"until": 0.6, "keep": 0.5}]
KINDS = {
    "adamw": {"recipe_changes": {"epochs": 2, "batch": 128, "drop_path": 0.1, "stages": STAGES}},
    "muon in parts": {"recipe_changes": {"epochs": 2, "batch": 128, "optimizer": "muon"}, "accumulate": 2},
    "no average": {"recipe_changes": {"epochs": 2, "batch": 128, "ema": None, "repeats": 2}},
    "stops early": {"recipe_changes": {"epochs": 9, "batch": 128, "rate": 1e-9, "ema": 0.5, "patience": 1}},
}


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.replace(" ", "-"))
def whole(request, tmp_path_factory):
    """A run that nothing happened to."""
    ready = resolve(
        Request(Origin("digits"), changes=TINY, device="cpu", precision="float32", threads=1, **KINDS[request.param])
    )
    folder = tmp_path_factory.mktemp("whole")
    return ready, fit(ready.plan, ready.splits, folder, quiet=True).state_dict(), folder


def rows(folder: Path) -> list[dict[str, str]]:
    """`metrics.csv` without what a clock says."""
    with (folder / "metrics.csv").open() as file:
        return [
            {k: v for k, v in row.items() if k not in ("seconds", "images_per_second")} for row in csv.DictReader(file)
        ]


def broken_off(monkeypatch, step: int, accumulate: int = 1):
    """From that step on nothing can be computed."""
    compute = Learner.training_step

    def fail(self, batch, batch_idx):
        if self.trainer.fit_loop.total_batch_idx >= step * accumulate:
            raise RuntimeError("the power is gone")
        return compute(self, batch, batch_idx)

    monkeypatch.setattr(Learner, "training_step", fail)


@pytest.mark.parametrize("step", [5, 10, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, 14, 19))])
def test_a_run_ends_the_same_wherever_it_was_broken_off(whole, tmp_path, monkeypatch, step):
    """Ten steps an epoch: before the first checkpoint, in an epoch, at its first step, after its end."""
    ready, expected, folder = whole
    with monkeypatch.context() as patch:
        broken_off(patch, step, ready.plan.accumulate)
        with pytest.raises(RuntimeError, match="the power is gone"):
            fit(ready.plan, ready.splits, tmp_path, quiet=True, often=OFTEN)
    torch.manual_seed(99)
    found = fit(ready.plan, ready.splits, tmp_path, quiet=True, often=OFTEN).state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert rows(tmp_path) == rows(folder)
    names = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert len(names) == 3
    assert names > {"best.safetensors"}


def test_a_checkpoint_that_the_disk_has_spoilt_is_passed_over(whole, tmp_path, monkeypatch, capsys):
    ready, expected, _ = whole
    with monkeypatch.context() as patch:
        broken_off(patch, 8, ready.plan.accumulate)
        with pytest.raises(RuntimeError, match="the power is gone"):
            fit(ready.plan, ready.splits, tmp_path, quiet=True, often=OFTEN)
    _, last = sorted((tmp_path / "checkpoints").glob("step-*"))
    last.write_bytes(last.read_bytes()[:-100])
    found = fit(ready.plan, ready.splits, tmp_path, quiet=True).state_dict()
    assert f"passed over: {last} is not whole" in capsys.readouterr().err
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    for path in (tmp_path / "checkpoints").glob("step-*"):
        path.write_bytes(b"spoilt")
    with pytest.raises(UserError, match=r"no checkpoint in .* can be read: .* is not whole"):
        fit(ready.plan, ready.splits, tmp_path, quiet=True)


def test_weights_that_are_no_numbers_are_not_kept(whole, tmp_path, monkeypatch):
    """The loss is still a number when they are to be written."""
    ready, *_ = whole

    def spoil(self, scheduler, metric):
        scheduler.step()
        if self.global_step == 6:
            next(self.model.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr(Learner, "lr_scheduler_step", spoil)
    with pytest.raises(UserError, match=r"no number any more at step 6; .*lower --rate.*; the last checkpoint is kept"):
        fit(ready.plan, ready.splits, tmp_path, quiet=True, often=OFTEN)
    kept = checkpoint.newest(tmp_path / "checkpoints")
    assert kept is not None
    assert kept.state.step == 3
    checkpoint.check_finite(kept.tensors, "step 3")
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [kept.path.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_run_that_is_asked_to_stop_keeps_the_step_it_was_at(whole, tmp_path, monkeypatch, number):
    ready, expected, folder = whole
    compute, handler = Learner.training_step, signal.getsignal(number)

    def asked(self, batch, batch_idx):
        if self.trainer.fit_loop.total_batch_idx == 6 * ready.plan.accumulate:
            os.kill(os.getpid(), number)
        return compute(self, batch, batch_idx)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "training_step", asked)
        with pytest.raises(Interrupted) as stop:
            fit(ready.plan, ready.splits, tmp_path, quiet=True)
    assert stop.value.exit_code == 128 + number
    assert signal.getsignal(number) is handler
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000000007.safetensors"]
    found = fit(ready.plan, ready.splits, tmp_path, quiet=True).state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert rows(tmp_path) == rows(folder)
