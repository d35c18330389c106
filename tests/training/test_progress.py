"""What is shown while a run goes on: times, the pace without validation, and two lines that fit a terminal."""

import csv
import io
import re
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console

from vitlab.commands.shown import folded
from vitlab.data.origin import Origin
from vitlab.training import progress, record, time_left
from vitlab.training.fit import fit
from vitlab.training.progress import TwoLines, clock
from vitlab.training.record import Record
from vitlab.training.resolve import Request, resolve
from vitlab.training.time_left import TimeLeft


@pytest.fixture
def now(monkeypatch):
    """A clock that stands until it is told to go."""
    now = SimpleNamespace(time=100.0)
    for module in (record, time_left):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now.time))
    return now


def at(batches):
    """A run of 4 epochs of 2 batches, so many of which are done."""
    loop = SimpleNamespace(epoch_loop=SimpleNamespace(total_batch_idx=batches - 1))
    return SimpleNamespace(fit_loop=loop, num_training_batches=2, max_epochs=4)


def test_times_as_people_read_them():
    assert [clock(seconds) for seconds in (0, 7.9, 60, 754, 3599, 3600, 5025, 90_061)] == [
        "0:00", "0:07", "1:00", "12:34", "59:59", "1:00:00", "1:23:45", "25:01:01",
    ]  # fmt: skip


@pytest.mark.parametrize(("begun", "done", "seconds"), [(0, 2, 70), (0, 6, 6), (4, 6, 10)])
def test_what_is_left_goes_at_the_pace_of_what_was_done(now, begun, done, seconds):
    """Each of the last four batches takes three times as long as each of the first four: 16 units in all."""
    left = TimeLeft(SimpleNamespace(until=lambda way: (min(8 * way, 4) + 3 * max(8 * way - 4, 0)) / 16))
    left.on_train_batch_start(at(begun + 1))
    now.time += 10
    assert left.seconds(at(done)) == pytest.approx(seconds)


def test_validation_does_not_count_as_training(now, tmp_path):
    table = Record(tmp_path / "metrics.csv")
    trainer = SimpleNamespace(num_training_batches=100, is_global_zero=False)
    outputs = {"shown_loss": torch.tensor(1.0), "correct": torch.tensor(5)}
    table.on_train_epoch_start(trainer, None)
    assert table.speed == 0
    for index in (1, 2):
        now.time += 2
        table.on_train_batch_end(trainer, None, outputs, (None, torch.zeros(50)), index)
    now.time += 1000
    assert table.speed == 25


@pytest.fixture(scope="module")
def ready():
    changes = {"depth": 1, "width": 12, "block__attention__heads": 2}
    return resolve(
        Request(Origin("digits"), changes=changes, recipe_changes={"epochs": 2}, precision="float32", threads=1)
    )


def test_two_lines_say_it_all_in_eighty_columns(ready, tmp_path, monkeypatch):
    console = Console(file=io.StringIO(), width=80, force_terminal=True, highlight=False)
    left = []

    class Seen(TwoLines):
        def stop(self):
            lines = console.render_lines(self.get_renderable(), console.options)
            left.extend("".join(segment.text for segment in line).rstrip() for line in lines)
            super().stop()

    monkeypatch.setattr(progress, "Console", lambda **_: console)
    monkeypatch.setattr(progress, "TwoLines", Seen)
    fit(ready.plan, ready.splits, tmp_path)
    bar, figures = left
    assert re.fullmatch(r" +━{32} trained in 0:\d\d", bar)
    with (tmp_path / "metrics.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    loss, accuracy, held = (float(last[name]) for name in ("train_loss", "train_accuracy", "val_accuracy"))
    share = r"  \d+(\.\d)?% of the peak"
    expected = rf"  loss {loss:.3f}  accuracy {accuracy:.1%}  validation {held:.1%}  [\d,]+ images/s{share}"
    assert re.fullmatch(expected, figures)


def test_what_the_plan_says_goes_on_below_where_it_begins():
    assert folded("  model    vit_few_patch2_8  (images of 8 pixels)\n  seed     0", 34) == (
        "  model    vit_few_patch2_8\n           (images of 8 pixels)\n  seed     0"
    )
