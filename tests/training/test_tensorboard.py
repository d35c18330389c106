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


def test_events_hold_every_row_of_the_table(ready, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fit(ready.plan, ready.splits, tmp_path, quiet=True, tensorboard=True)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    with (tmp_path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    for group, of in (("", True), ("batch/", False)):
        chosen = [row for row in rows if bool(row["val_accuracy"]) is of]
        assert len(chosen) == (2 if of else 20)
        for name in ("train_loss", "train_accuracy", "rate", "images_per_second", *(("val_loss", "val_accuracy") * of)):
            told = events.Scalars(f"{group}{name}")
            assert [event.step for event in told] == [int(row["step"]) for row in chosen]
            assert [event.value for event in told] == pytest.approx([float(row[name]) for row in chosen], rel=1e-4)


def test_without_tensorboard_the_way_out_is_told(ready, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'vitlab\[tensorboard\]'"):
        fit(ready.plan, ready.splits, tmp_path, quiet=True, tensorboard=True)
