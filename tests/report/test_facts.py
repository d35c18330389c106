"""Reading a run's folder: the figures by hand, what may be absent, and what is refused in which words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vitlab.errors import UserError
from vitlab.report import curves, facts
from vitlab.report.picture import picture

from .sample import png


def test_epochs_are_merged_as_by_hand(run: Path) -> None:
    first, second, third = facts.read(run).epochs
    assert (first.train_loss, first.train_accuracy, first.val_loss, first.val_accuracy) == (1.5, 0.5, 1.25, 0.5)
    assert (first.rate, first.images_per_second, first.seconds, first.step) == (0.002, 1100, 2.5, 20)
    assert (second.train_loss, second.val_loss, second.val_accuracy) == (0.5, 0.7, 0.875)
    assert (third.train_loss, third.val_loss, third.rate, third.seconds) == (0.25, None, None, 7.25)


def test_rows_in_any_order_and_missing_columns(bare: Path) -> None:
    (bare / "metrics.csv").write_text("val_loss,epoch,other\n0.5,2,x\n,1,\n0.9,1,y\n,,\n")
    assert facts.read(bare).epochs == (curves.Epoch(1, val_loss=0.9), curves.Epoch(2, val_loss=0.5))


def test_the_row_that_closes_an_epoch_has_the_mean_of_all_of_it(bare: Path) -> None:
    """Rows of single steps come before it; a run stopped in mid-epoch has those alone."""
    rows = "1,1,9.0,\n1,5,1.0,\n1,9,4.5,0.25\n2,10,4.0,\n2,14,3.0,\n"
    (bare / "metrics.csv").write_text(f"epoch,step,train_loss,val_loss\n{rows}")
    assert [epoch.train_loss for epoch in facts.read(bare).epochs] == [4.5, 3.5]


def test_best_and_broken_epochs(run: Path, bare: Path) -> None:
    epochs = facts.read(run).epochs
    top = curves.best(epochs)
    assert top is not None
    assert top.epoch == 2
    assert curves.broken(epochs) is None
    (bare / "metrics.csv").write_text("epoch,train_loss\n1,2.0\n2,nan\n3,inf\n")
    assert curves.broken(facts.read(bare).epochs) == 2


def test_classes_and_confused_pairs(run: Path) -> None:
    found = facts.read(run).evaluation
    assert found is not None
    assert found.errors == 5
    results = {r.name: (r.images, r.right, r.accuracy, r.precision) for r in found.by_class()}
    assert results["三角形"] == (10, 6, 0.6, 6 / 7)
    assert results["circle"] == (10, 10, 1.0, 10 / 13)
    assert found.by_class()[0].name == "三角形"
    pairs = [(p.truth, p.predicted, p.images, p.share) for p in found.confused(2)]
    assert pairs[0] == ("三角形", "circle", 3, 0.3)
    assert len(pairs) == 2
    assert len(found.confused(99)) == 3


def test_speed_and_time(run: Path) -> None:
    found = facts.read(run)
    assert found.seconds == 7.25
    assert found.images_per_second == 1200


def test_time_goes_on_over_a_resume(bare: Path) -> None:
    (bare / "metrics.csv").write_text("epoch,seconds\n1,10\n2,20\n3,4\n4,9\n")
    assert facts.read(bare).seconds == 29


def test_a_bare_run(bare: Path) -> None:
    found = facts.read(bare)
    assert (found.epochs, found.evaluation, found.bundle, found.cost, found.classes) == ((), None, None, None, None)


def test_pictures_small_as_they_are_large_made_smaller() -> None:
    small, large = picture(png(8, 6)), picture(png(900, 600))
    assert small is not None
    assert (small.width, small.height, small.pixelated) == (8, 6, True)
    assert small.source == f"data:image/png;base64,{png(8, 6)}"
    assert large is not None
    assert not large.pixelated
    assert picture("bm8gcG5n") is None
    assert picture("%%%") is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("evaluation.json", "{not json", "evaluation.json is not an evaluation: invalid JSON"),
        ("evaluation.json", '{"split": "test"}', "`images`: field required"),
        ("cost.json", '{"parameters": "many"}', "cost.json is not a model's cost: `parameters`"),
        ("bundle/model.json", "[]", "model.json is not a bundle's description"),
        ("config.yaml", "a: [", "config.yaml, line 1"),
        ("config.yaml", "just words", "should map names to values"),
        ("config.yaml", "seed: 1", "`command`: field required"),
        ("config.yaml", "command: x\nreasons: [1]", "`reasons`"),
        ("metrics.csv", "step,train_loss\n1,2\n", "no `epoch` column"),
        ("metrics.csv", "epoch,train_loss\n1,low\n", "metrics.csv, line 2: train_loss should be a number and is 'low'"),
        ("metrics.csv", "epoch,train_loss\n1.5,2\n", "epoch 1.5 is not a whole number"),
    ],
)
def test_a_malformed_file_is_named(bare: Path, name: str, content: str, said: str) -> None:
    (bare / name).parent.mkdir(exist_ok=True)
    (bare / name).write_text(content)
    with pytest.raises(UserError) as caught:
        facts.read(bare)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"confusion": [[10, 0], [0, 9]]}, "has 2 rows for 4 classes"),
        ({"confusion": [[10, 0, 0, 0], [0, 9, 1], [3, 1, 6, 0], [0, 0, 0, 10]]}, "not square (row 1 has 3 columns"),
        ({"confusion": [[11, 0, 0, -1], [0, 9, 1, 0], [3, 1, 6, 0], [0, 0, 0, 10]]}, "negative count"),
        ({"images": 41}, "counts 40 images and `images` says 41"),
        ({"accuracy": 87.5}, "87.5, which is no share of one"),
        ({"mistakes": [{"where": "x", "truth": 9, "predicted": 0, "probability": 1}]}, "beyond the 4 there are"),
        (
            {"mistakes": [{"where": "x", "truth": 1, "predicted": 0, "probability": 1, "png": "bm8="}]},
            "no readable PNG",
        ),
    ],
)
def test_contradictions_are_refused(evaluated: Callable[..., Path], entries: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=r"evaluation\.json contradicts itself") as caught:
        facts.read(evaluated(**entries))
    assert said in str(caught.value)


def test_no_folder_and_no_plan(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no config\.yaml"):
        facts.read(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        facts.read(tmp_path / "nothing")
