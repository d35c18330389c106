"""Event files on request, with the figures of metrics.csv; one sentence where TensorBoard is not installed."""

import csv
import sys

import pytest

from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.training.fit import fit
from vitlab.training.resolve import Request, resolve


@pytest.fixture(scope="module")
def ready():
    changes = {"depth": 1, "width": 12, "block__attention__heads": 2}
    return resolve(
        Request(Origin("digits"), changes=changes, recipe_changes={"epochs": 2}, precision="float32", threads=1)
    )


def test_events_hold_the_figures_of_each_epoch(ready, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fit(ready.plan, ready.splits, tmp_path, quiet=True, tensorboard=True)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["val_accuracy"]]
    for name in ("train_loss", "val_loss", "val_accuracy"):
        told = [event.value for event in events.Scalars(name)]
        assert told == pytest.approx([float(row[name]) for row in rows], rel=1e-4)


def test_without_tensorboard_the_way_out_is_told(ready, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'vitlab\[tensorboard\]'"):
        fit(ready.plan, ready.splits, tmp_path, quiet=True, tensorboard=True)
