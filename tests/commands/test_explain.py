"""vitlab explain: what it writes, what it prints, what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.commands.conftest import Said, paint
from vitlab.commands.run import Run

Say = Callable[..., Said]


def test_pictures_and_a_page_for_images(here: Path, say: Say, trained: Run) -> None:
    paint(here / "one.png")
    (here / "out").mkdir()
    (here / "out" / "mine.txt").write_text("stays")
    said = say("explain", trained.folder, "one.png", "--method", "attention", "rollout", "--out", "out")
    assert said.code == 0, said.err
    assert said.out.startswith("one.png  ")
    assert sorted(path.name for path in (here / "out").iterdir()) == [
        "01-one-heads.png", "01-one-methods.png", "mine.txt", "page.html",
    ]  # fmt: skip
    for path in (here / "out").glob("*.png"):
        with Image.open(path) as drawn:
            assert min(drawn.size) > 200


def test_without_images_some_of_the_data_are_taken_right_and_wrong(here: Path, say: Say, trained: Run) -> None:
    said = say("explain", trained.folder, "--method", "rollout", "--json", "--out", "out", "--count", 4)
    assert said.code == 0, said.err
    found = json.loads(said.out)
    rights = [image["truth"] == image["label"] for image in found["images"]]
    assert rights == [False, False, True, True]
    assert len(found["images"][0]["maps"]["rollout"]) > 1
    assert Path(found["page"]).is_file()


def test_which_explanation_to_believe(here: Path, say: Say, trained: Run) -> None:
    words = ["--fidelity", "--count", 20, "--method", "rollout", "occlusion", "gradient", "--out", "out"]
    said = say("explain", trained.folder, *words)
    assert said.code == 0, said.err
    assert said.out.startswith("20 images, 4x4 places")
    found = json.loads((here / "out" / "fidelity.json").read_text())
    assert {score["method"] for score in found["scores"]} == {"rollout", "occlusion", "gradient", "random"}
    assert (here / "out" / "fidelity.png").is_file()


def test_the_model_itself(here: Path, say: Say, trained: Run) -> None:
    said = say("explain", trained.folder, "--model", "--count", 20, "--out", "out")
    assert said.code == 0, said.err
    assert "no picture: epochs.png: the training was not watched" in said.out
    drawn = {path.name for path in (here / "out").iterdir()}
    assert drawn == {"heads.png", "probes.png", "positions.png", "filters.png", "anatomy.json"}
    found = json.loads((here / "out" / "anatomy.json").read_text())
    assert len(found["heads"]) == len(found["drops"]) == 4
    assert {head["kind"] for head in found["heads"]} <= {"local", "global", "sink"}


def test_a_network_without_attention_is_explained_by_its_maps(here: Path, say: Say) -> None:
    folder = here / "run"
    network = ("--model", "resnet18_cifar_32", "--size", 8, "--change", "width=4", "--epochs", 1, "--quiet")
    assert say("train", "digits", *network, "--precision", "float32", "--out", folder).code == 0
    said = say("explain", folder, "--count", 1, "--method", "attention", "grad-cam", "occlusion", "--out", "out")
    assert said.code == 0, said.err
    assert "no attention: this model has no attention to look at" in said.out
    assert sorted(path.name[:3] for path in (here / "out").iterdir()) == ["01-", "01-", "pag"]
    assert say("explain", folder, "--model").err == "vitlab: this model has no attention to look at\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nope.png", "no such image or folder: nope.png"),
        ("--method rolout", "no method 'rolout'; did you mean 'rollout' or 'weighted-rollout'?"),
        ("--count 0", "--count wants at least 1, not 0"),
        ("--fidelity --model", "--fidelity and --model are two questions"),
        ("--out file", "file is a file; --out wants a folder"),
        ("--target wolf", "the model knows no class 'wolf'"),
    ],
)
def test_mistakes(here: Path, refused: Callable[..., str], trained: Run, words: str, sentence: str) -> None:
    (here / "file").write_text("")
    assert refused("explain", trained.folder, *words.split()).startswith(sentence)


def test_more_images_than_a_page_holds(here: Path, refused: Callable[..., str], trained: Run) -> None:
    for i in range(49):
        paint(here / "many" / f"{i}.png", i)
    assert refused("explain", trained.folder, "many") == (
        "49 images are more than the 48 that one page holds; name fewer"
    )
