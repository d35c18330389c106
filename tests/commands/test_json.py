"""`--json` prints one value that parses, and nothing else, on standard output."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import vitlab
from tests.commands.conftest import Said, paint
from vitlab.commands.run import Run

Say = Callable[..., Said]


def _parsed(said: Said) -> object:
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_train(say: Say, here: Path) -> None:
    words = "--epochs 1 --change depth=1 width=12 --precision float32 --threads 1 --out run --json"
    said = say("train", "digits", *words.split())
    found = _parsed(said)
    assert isinstance(found, dict)
    assert found["folder"] == "run"
    assert found["images"] == 360
    assert found["accuracy"] == json.loads((here / "run" / "evaluation.json").read_text())["accuracy"]
    assert "epoch 1/1" in said.err  # progress belongs to the person, not to the script
    assert {path.name for path in here.rglob("*")} >= {"bundle", "config.yaml", "metrics.csv", "report.html"}
    assert not [path for path in here.rglob("*") if "partial" in path.name]


def test_evaluate(say: Say, trained: Run) -> None:
    found = _parsed(say("evaluate", trained.folder, "--json"))
    assert isinstance(found, dict)
    assert found["accuracy"] == pytest.approx(trained.evaluation.accuracy, abs=1e-12)
    assert sum(map(sum, found["confusion"])) == 360
    assert len(found["mistakes"]) == 24
    assert set(found["mistakes"][0]) == {"where", "truth", "predicted", "probability", "truth_probability"}


def test_predict(say: Say, here: Path, trained: Run) -> None:
    paths = [paint(here / "a b" / f"{i}.png", i) for i in range(3)]
    found = _parsed(say("predict", trained.folder, "a b", "--json"))
    assert isinstance(found, list)
    assert [row["file"] for row in found] == [str(path.relative_to(here)) for path in paths]
    for row in found:
        assert set(row["probabilities"]) == set("0123456789")
        assert row["probability"] == max(row["probabilities"].values()) == row["probabilities"][row["label"]]


def test_report_models_profile_version(say: Say, trained: Run) -> None:
    assert _parsed(say("report", trained.folder, "--json")) == {"report": str(trained.report)}
    models = _parsed(say("models", "vit_cifar*", "--json"))
    assert isinstance(models, list)
    assert [row["name"] for row in models] == vitlab.models("vit_cifar*")
    profile = _parsed(say("profile", trained.folder, "--json"))
    assert isinstance(profile, dict)
    assert profile["parameters"] == sum(each.numel() for each in trained.bundle.model.parameters())
    assert _parsed(say("--version", "--json")) == vitlab.__version__


def test_a_mistake_leaves_standard_output_empty(say: Say) -> None:
    assert say("train", "nope", "--json").out == ""


def test_python_takes_paths_as_words_too(here: Path, trained: Run) -> None:
    picture = paint(here / "x.png")
    folder = str(trained.folder)
    by_word, by_path = vitlab.predict(folder, str(picture)), vitlab.predict(trained.folder, (picture,))
    assert by_word == by_path
    assert vitlab.evaluate(folder).accuracy == trained.evaluation.accuracy
    assert vitlab.report(folder).path == trained.report
    (here / "run" / "bundle").mkdir(parents=True)
    with pytest.raises(vitlab.UserError, match="run holds another run"):
        vitlab.train("digits", out="run")
