"""What is said before the first step, and the share of the peak that is shown while it goes."""

import re

import pytest

from vitlab.data.origin import Origin
from vitlab.models.cost import cost
from vitlab.training import machine, room
from vitlab.training.estimate import estimate
from vitlab.training.fit import fit
from vitlab.training.resolve import Request, resolve
from vitlab.training.work import Work


@pytest.fixture(scope="module")
def ready():
    changes = {"epochs": 2, "batch": 64}
    return resolve(Request(Origin("digits"), recipe_changes=changes, device="cpu", precision="float32", threads=1))


def of(plan):
    return estimate(plan, cost(plan.blueprint, plan.micro_batch, plan.machine.precision).memory)


def test_time_is_that_of_all_images_at_the_measured_pace(ready):
    at_pace = ready.plan.machine.model_copy(update={"images_per_second": 100.0})
    found = of(ready.plan.model_copy(update={"machine": at_pace}))
    assert found.seconds == pytest.approx(2 * (20 * 64 + 144 / 3) / 100)
    assert (
        of(ready.plan.model_copy(update={"machine": at_pace.model_copy(update={"images_per_second": None})})).seconds
        is None
    )


def test_advice_where_a_batch_does_not_fit(ready, monkeypatch):
    counted = of(ready.plan)
    assert (counted.advice, counted.free) == ("", pytest.approx(room.available_memory(), rel=0.2))
    monkeypatch.setattr(room, "available_memory", lambda: int(counted.memory))
    assert re.fullmatch(r"this may not fit: 0\.0 GiB are free; --accumulate 2 takes 0\.0 GiB", of(ready.plan).advice)
    monkeypatch.setattr(room, "available_memory", lambda: 1_000_000)
    assert "too little for one image of this model" in of(ready.plan).advice


def test_the_line_shows_the_share_of_the_peak(ready, tmp_path, capsys):
    quick = ready.plan.machine.model_copy(update={"peak_gflops": 1000.0})
    fit(ready.plan.model_copy(update={"machine": quick}), ready.splits, tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    flops = Work(ready.plan.blueprint, ready.plan.recipe).at(0.0)
    for line in lines:
        found = re.search(r"0:\d\d left  .*  ([\d,]+) images/s  (\d+)% of the peak$", line)
        assert found
        speed, share = (float(figure.replace(",", "")) for figure in found.groups())
        assert share == pytest.approx(100 * speed * flops / 1e12, abs=0.51)


def test_no_step_is_above_the_peak(ready):
    flops = Work(ready.plan.blueprint, ready.plan.recipe).at(0.0)
    settled = ready.plan.machine
    assert 0 < settled.images_per_second * flops < machine.peak("cpu", "float32")
    assert settled.peak_gflops > 1
