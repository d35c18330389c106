"""A whole small training: repeated bit for bit, averaged, accumulated, recorded."""

import csv
from dataclasses import replace

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.training import checkpoint, learner
from vitlab.training.fit import fit
from vitlab.training.plan import Plan
from vitlab.training.recipe import recipe
from vitlab.training.resolve import Request, replay, resolve
from vitlab.training.start import begin

TINY = {"depth": 2, "width": 12, "block__attention__heads": 2}
REQUEST = Request(
    Origin("digits"), changes=TINY, recipe_changes={"epochs": 2}, device="cpu", precision="float32", threads=1
)


@pytest.fixture(scope="module")
def ready():
    return resolve(REQUEST)


@pytest.fixture(scope="module")
def trained(ready, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return fit(ready.plan, ready.splits, folder, quiet=True), folder


def test_same_seed_and_plan_repeat_a_run_bit_for_bit(ready, trained, tmp_path):
    (tmp_path / "config.yaml").write_text(ready.plan.to_yaml(), encoding="utf-8")
    again = replay(Plan.read(tmp_path / "config.yaml"), Origin("digits"))
    assert again.plan == ready.plan
    torch.manual_seed(1234)  # whatever went before must not matter
    repeated = fit(again.plan, again.splits, tmp_path, quiet=True)
    first, second = trained[0].state_dict(), repeated.state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_muon_and_stages_train_in_a_whole_run(ready, trained, tmp_path):
    stages = ({"until": 0.3, "side": 6}, {"until": 0.7, "keep": 0.5})
    changes = {"epochs": 2, "optimizer": "muon", "decay": "linear", "stages": stages, "ema": None}
    plan = ready.plan.model_copy(update={"recipe": recipe("few", changes)})
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    fit(plan, ready.splits, tmp_path, quiet=True)
    losses = []
    for folder in (tmp_path, trained[1]):
        with (folder / "metrics.csv").open() as file:
            losses.append([float(row["val_loss"]) for row in csv.DictReader(file) if row["val_loss"]][-1])
    assert losses[0] < losses[1]  # so few steps are enough for matrices to differ


def test_filters_taken_from_the_training_images_are_there_from_the_first_step_to_the_last(tmp_path):
    tower = {"kind": "tower", "filters": "whitening", "widths": [6]}
    changes = {**TINY, "patch": tower, "block__attention__relative": "neighbours"}
    ready = resolve(replace(REQUEST, changes=changes, recipe_changes={"epochs": 1}))
    trained = fit(ready.plan, ready.splits, tmp_path, quiet=True)
    images = ready.plan.preprocess.normalise(ready.splits["train"].images)
    maps = trained.patch.filters(images) - trained.patch.filters.bias[:, None, None]
    assert maps.square().mean(dim=(0, 2, 3)).max().item() == pytest.approx(1, abs=0.05)  # 512 of 1,293 were looked at
    assert begin(ready.plan, ready.splits["train"]).patch.filters.weight.equal(trained.patch.filters.weight)


def test_another_seed_is_another_run(ready, trained, tmp_path):
    other = fit(ready.plan.model_copy(update={"seed": 1}), ready.splits, tmp_path, quiet=True)
    assert not torch.equal(other.state_dict()["head.weight"], trained[0].state_dict()["head.weight"])


def test_metrics_hold_every_epoch_with_validation(trained, ready):
    with (trained[1] / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    last = [row for row in rows if row["val_accuracy"]]
    assert [int(row["epoch"]) for row in last] == [1, 2]
    assert int(rows[-1]["step"]) == ready.plan.steps == 2 * (ready.plan.data.train // ready.plan.recipe.batch)
    assert all(0 <= float(row["train_accuracy"]) <= 1 for row in rows)
    assert float(rows[0]["rate"]) > 0
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(steps)


def test_checkpoints_are_left_for_the_best_and_the_last_epoch(trained):
    kept = {path.name: checkpoint.read(path) for path in (trained[1] / "checkpoints").iterdir()}
    assert set(kept) == {"best.safetensors", "step-000000040.safetensors"}
    last, best = kept["step-000000040.safetensors"], kept["best.safetensors"]
    averaged = last.part("average")
    assert all(torch.equal(averaged[name], tensor) for name, tensor in trained[0].state_dict().items())
    assert last.state.complete
    with (trained[1] / "metrics.csv").open() as file:
        accuracies = [float(row["val_accuracy"]) for row in csv.DictReader(file) if row["val_accuracy"]]
    assert best.state.best.accuracy == pytest.approx(max(accuracies), abs=1e-6)
    assert best.state.epoch == 1 + accuracies.index(max(accuracies))


@pytest.mark.parametrize("parts", [4, 8])  # 1293 images are 80 quarters and 161 eighths of a batch, 20 batches
def test_a_batch_in_parts_takes_the_same_steps(ready, tmp_path, monkeypatch, parts):
    """By plain descent, since AdamW turns the last bits of a small gradient into whole steps."""
    monkeypatch.setattr(learner, "optimizer", lambda model, *_: torch.optim.SGD(model.parameters(), lr=1.0))
    recipe = ready.plan.recipe.model_copy(update={"epochs": 2, "ema": None, "drop_path": 0.0})
    still = ready.plan.blueprint.change(dropout=0.0, drop_path=0.0)
    whole = ready.plan.model_copy(update={"recipe": recipe, "blueprint": still, "augment": ()})
    cut = whole.model_copy(update={"accumulate": parts})
    assert cut.micro_batch * parts == whole.micro_batch
    assert cut.steps == whole.steps == 40
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    one = fit(whole, ready.splits, tmp_path / "whole", quiet=True).state_dict()
    same = fit(cut, ready.splits, tmp_path / "cut", quiet=True).state_dict()
    for name, value in one.items():
        torch.testing.assert_close(same[name], value, atol=2e-5, rtol=0)
    assert not torch.allclose(still.build().state_dict()["head.weight"], one["head.weight"], atol=2e-2)


def test_the_average_is_an_exponential_one(ready, tmp_path, monkeypatch):
    """Every step's weights noted from outside, averaged by hand."""
    from vitlab.training.learner import Learner

    seen = []
    kept = Learner.on_train_batch_end if hasattr(Learner, "on_train_batch_end") else None

    def note(self, *arguments):
        seen.append({name: p.detach().clone() for name, p in self.model.named_parameters()})
        return kept(self, *arguments) if kept else None

    monkeypatch.setattr(Learner, "on_train_batch_end", note)
    plan = ready.plan.model_copy(
        update={"recipe": ready.plan.recipe.model_copy(update={"epochs": 1, "ema": 0.7, "patience": None})}
    )
    averaged = dict(fit(plan, ready.splits, tmp_path, quiet=True).named_parameters())
    expected = seen[0]
    for weights in seen[1:]:
        expected = {name: 0.7 * expected[name] + 0.3 * weights[name] for name in expected}
    assert len(seen) == plan.steps
    for name, value in expected.items():
        torch.testing.assert_close(averaged[name].detach(), value, atol=1e-5, rtol=1e-4)


def test_patience_stops_early_and_takes_the_best(ready, tmp_path):
    recipe = ready.plan.recipe.model_copy(update={"epochs": 50, "patience": 1, "rate": 1e-12, "last_rate": 0.0})
    fit(ready.plan.model_copy(update={"recipe": recipe}), ready.splits, tmp_path, quiet=True)
    with (tmp_path / "metrics.csv").open() as file:
        epochs = max(int(row["epoch"]) for row in csv.DictReader(file))
    assert epochs < 10


def test_a_loss_that_is_no_number_stops_the_run(ready, tmp_path):
    from vitlab.errors import UserError

    recipe = ready.plan.recipe.model_copy(update={"rate": 1e30, "clip": None, "warmup": 0.0})
    with pytest.raises(UserError, match=r"the loss is (nan|inf) at step .*lower --rate"):
        fit(ready.plan.model_copy(update={"recipe": recipe}), ready.splits, tmp_path, quiet=True)
