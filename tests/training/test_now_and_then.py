"""Where a run stands is told often enough to be looked at, never for more than 1 % of its time, and changes nothing."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.training import now_and_then, time_left
from vitlab.training.fit import fit
from vitlab.training.now_and_then import NowAndThen, Stand
from vitlab.training.resolve import Request, resolve
from vitlab.training.time_left import TimeLeft


@pytest.fixture
def now(monkeypatch):
    """A clock that stands until it is told to go."""
    now = SimpleNamespace(time=50.0)
    for module in (now_and_then, time_left):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now.time))
    return now


def told(now, batch, telling, batches=10_000):
    """When, and what, in a run whose batches and tellings take so many seconds each."""
    found = []

    def tell(stand):
        found.append((round(now.time - 50, 3), stand))
        now.time += telling

    left = TimeLeft(SimpleNamespace(until=lambda way: way))
    callback = NowAndThen(tell, left)
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(total_batch_idx=0))
    trainer = SimpleNamespace(fit_loop=loop, num_training_batches=batches // 4, max_epochs=4, current_epoch=0)
    for done in range(batches):
        loop.epoch_loop.total_batch_idx, trainer.current_epoch = done, done // (batches // 4)
        left.on_train_batch_start(trainer)
        now.time += batch
        callback.on_train_batch_end(trainer)
    return found


def test_every_few_seconds_where_telling_takes_nothing(now):
    found = told(now, batch=0.01, telling=0.0)
    assert [when for when, _ in found] == pytest.approx([1.01 + 5 * k for k in range(20)], abs=0.011 * 20)
    when, stand = found[10]
    assert stand == Stand(3, 4, pytest.approx(when / 100), pytest.approx(100 - when), 5.0)


def test_seldom_where_telling_takes_long(now):
    """Each waits a hundred times as long as the one before it took."""
    found = told(now, batch=0.05, telling=0.2)
    times = [when for when, _ in found]
    assert times[0] == pytest.approx(1.05, abs=0.051)
    assert len(times) == 1 + int(500 / 20.2)
    assert all(19.99 < after - before < 20.3 for before, after in itertools.pairwise(times))
    assert found[-1][1].again == pytest.approx(20)


def test_batches_that_take_longer_are_waited_for(now):
    found = told(now, batch=30.0, telling=0.0, batches=8)
    assert [when for when, _ in found] == [60.0, 90.0, 120.0, 150.0, 180.0, 210.0, 240.0]
    assert {stand.again for _, stand in found} == {30.0}


def test_a_run_that_tells_is_the_same_run(tmp_path, monkeypatch):
    monkeypatch.setattr(now_and_then, "FIRST", 0.0)
    monkeypatch.setattr(now_and_then, "EVERY", 0.0)
    monkeypatch.setattr(now_and_then, "TIMES", 0.0)
    changes = {"depth": 1, "width": 12, "block__attention__heads": 2, "dropout": 0.1}
    ready = resolve(
        Request(Origin("digits"), changes=changes, recipe_changes={"epochs": 2}, precision="float32", threads=1)
    )
    found: list[Stand] = []
    (tmp_path / "told").mkdir()
    (tmp_path / "not").mkdir()
    one = fit(ready.plan, ready.splits, tmp_path / "told", quiet=True, tell=found.append).state_dict()
    other = fit(ready.plan, ready.splits, tmp_path / "not", quiet=True).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in other)
    trained = sorted({stand.share for stand in found})
    assert trained == pytest.approx([k / 40 for k in range(1, 41)])
    assert len(found) > len(trained)  # while it validates too
    assert [found[0].epoch, found[-1].epoch, found[-1].epochs] == [1, 2, 2]
    assert found[-1].left == 0
