"""A pretrained model for a run that names none: taken where it suits and is at hand, hardly waited for."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import vitlab
from tests.hub import COMMIT, Hub, asks, put_on_hub, serving, silent
from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.models.cost import cost
from vitlab.training import auto, pretrained
from vitlab.training.plan import Plan
from vitlab.training.resolve import Ready, Request, replay, resolve
from vitlab.training.start import begin
from vitlab.weights.catalogue import CATALOGUE

BEST, SECOND = (CATALOGUE[name].source for name in auto.pretrained(224, 1_000, 3, "cpu")[0][:2])
SMALL = {"depth": 1, "width": 48, "block__attention__heads": 3}


@pytest.fixture
def own_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """A hub with the best checkpoint for a CPU, made small, and an empty cache."""
    with serving() as address:
        asks(monkeypatch, address, tmp_path / "cache")
        put_on_hub("vit_small_patch32_224", **SMALL)
        yield Hub


def photographs(folder: Path, side: int = 100, mode: str = "RGB") -> str:
    """Two classes of a dozen pictures each, of one colour and another."""
    noise = np.random.default_rng(0)
    for name, tint in (("red", (200, 60, 60)), ("blue", (60, 60, 200))):
        (folder / name).mkdir(parents=True)
        for i in range(12):
            pixels = np.clip(noise.normal(tint, 30, (side, side + i, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).convert(mode).save(folder / name / f"{i}.jpg")
    return str(folder)


def planned(data: str, **asked: object) -> Ready:
    settled = {"device": "cpu", "precision": "float32", "threads": 1, "cached": False, "recipe_changes": {"epochs": 1}}
    return resolve(Request(Origin(data), **{**settled, **asked}))


def test_the_hub_is_asked_once_and_gives_it(own_hub: type[Hub], tmp_path: Path) -> None:
    ready = planned(photographs(tmp_path / "data"))
    plan = ready.plan
    assert (plan.start.path, plan.start.revision) == (BEST, COMMIT)
    assert (plan.blueprint.width, plan.blueprint.classes, plan.model) == (48, 2, "vit_small_patch32_224")
    assert plan.preprocess.mean == (0.5, 0.5, 0.5)  # the checkpoint's own
    told = "pretrained, on the hub, and suits images of 100 pixels (or --from none); "
    assert plan.reasons["model"].startswith(f"{told}begins with the weights of {BEST}; ")
    assert plan.reasons["model"].endswith("; classes: 1000 to 2, head new")
    assert plan.reasons["recipe"].startswith("'finetune'")
    assert {path.split("/resolve/")[0] for path in own_hub.asked} == {
        f"{method} {repository}"
        for method, repository in (
            ("HEAD", BEST.replace("timm:", "timm/")),
            ("GET", BEST.replace("timm:", "timm/")),
            ("HEAD", "datasets/huggingface/label-files"),
        )
    }


def test_what_is_in_the_cache_is_taken_without_a_word_to_the_hub(own_hub: type[Hub], tmp_path: Path) -> None:
    """The first of the table that is there, though a better one could be fetched."""
    put_on_hub("vit_tiny_patch16_224", **SMALL)
    vitlab.load(SECOND, say=lambda _: None)
    own_hub.asked.clear()
    found, _ = pretrained.find(100, 24, 3, ("a", "b"), None, "cpu")
    assert (found.source.path, found.source.revision) == (SECOND, COMMIT)
    assert found.reason.startswith("pretrained, in the cache, and suits images of 100 pixels")
    assert own_hub.asked == []


def test_a_plan_is_repeated_without_a_word_to_the_hub(own_hub: type[Hub], tmp_path: Path) -> None:
    data = photographs(tmp_path / "data")
    ready = planned(data)
    weights = begin(ready.plan, ready.splits["train"]).state_dict()
    (tmp_path / "config.yaml").write_text(ready.plan.to_yaml(), encoding="utf-8")
    own_hub.asked.clear()
    own_hub.files.clear()
    plan = Plan.read(tmp_path / "config.yaml")
    again = replay(plan, Origin(data))
    first = begin(again.plan, again.splits["train"]).state_dict()
    assert own_hub.asked == []
    kept = {name for name in weights if not name.startswith("head")}
    assert all(torch.equal(first[name], weights[name]) for name in kept)
    theirs = vitlab.load(f"{BEST}@{COMMIT}", say=lambda _: None).model.state_dict()
    assert all(torch.equal(first[name], theirs[name]) for name in kept)


def test_names_of_classes_are_those_of_the_plan(
    own_hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class called as one of ImageNet's keeps its row of the head, each time or never: as when it was planned."""
    labels = "datasets/huggingface/label-files/imagenet-1k-id2label.json"
    data = photographs(tmp_path / "data")
    ready = planned(data)
    without, train = ready.plan, ready.splits["train"]
    own_hub.files[labels] = json.dumps({str(i): "red" if i == 7 else f"thing {i}" for i in range(1000)}).encode()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "other"))
    known = planned(data).plan
    assert (without.start.named, known.start.named) == (False, True)
    assert "head 1 rows kept by their names, 1 new" in known.reasons["model"]
    row = vitlab.load(BEST, say=lambda _: None).model.head.weight[7]
    assert torch.equal(begin(known, train).head.weight[1], row)
    assert not torch.equal(begin(without, train).head.weight[1], row)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=r"the names of the classes of .* cannot be had now"):
        begin(known, train)


def test_a_silent_hub_is_waited_for_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent() as address:
        asks(monkeypatch, address, tmp_path)
        start = time.monotonic()
        found, why = pretrained.find(100, 24, 3, ("a", "b"), None, "cpu")
        assert 1.5 < time.monotonic() - start < 6
    assert found is None
    assert why == "from scratch: no pretrained model is in the cache, and the hub does not answer"


def test_offline_nobody_is_asked(own_hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found, why = pretrained.find(100, 24, 3, ("a", "b"), None, "cpu")
    assert found is None
    assert why.endswith("no pretrained model is in the cache, and HF_HUB_OFFLINE keeps from asking the hub")
    assert own_hub.asked == []


def test_a_damaged_checkpoint_is_told_of_and_done_without(own_hub: type[Hub], tmp_path: Path) -> None:
    vitlab.load(BEST, say=lambda _: None)
    (weights,) = (tmp_path / "cache").rglob("snapshots/*/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:500])
    found, why = pretrained.find(100, 24, 3, ("a", "b"), None, "cpu")
    assert found is None
    assert why.startswith("from scratch: a pretrained model is at hand, but ")
    assert "truncated or no safetensors file" in why


@pytest.mark.parametrize(
    ("side", "images", "channels", "size", "complaint"),
    [
        (8, 1_293, 1, None, "images of 8 pixels are too small for a pretrained model"),
        (32, 50_000, 3, None, "images of 32 pixels are too small for a pretrained model"),
        (32, 50_000, 3, 224, "images of 32 pixels are too small for a pretrained model"),
        (500, 1_000, 3, 64, "images of 64 pixels are too small for a pretrained model"),
        (500, 1_000, 12, None, "no pretrained model knows images of 12 channels"),
        (500, 1_281_167, 3, None, "1,281,167 images teach what a pretrained model knows"),
        (500, 1_000, 3, 100, "no pretrained model here has patches that divide 100 pixels"),
    ],
)
def test_nobody_is_asked_where_none_suits(
    side: int, images: int, channels: int, size: int | None, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretrained, "hub", None)
    found = pretrained.find(side, images, channels, ("a", "b"), size, "cpu")
    assert found == (None, f"from scratch: {complaint}")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"start": None}, "of 64 and 4 blocks; from scratch: asked for"),
        ({"model": "vit_simple_patch8_32"}, "asked for"),
        ({"changes": {"pool": "mean"}}, "of 64 and 4 blocks"),
        ({"recipe": "few"}, "of 64 and 4 blocks; from scratch, as recipe 'few' begins"),
    ],
)
def test_nobody_is_asked_where_something_else_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, object], reason: str
) -> None:
    monkeypatch.setattr(pretrained, "hub", None)
    data = photographs(tmp_path / "data")
    with pytest.raises(AttributeError, match="at_hand"):  # where nothing was asked for, it would be
        planned(data, size=96)
    plan = planned(data, size=96, **asked).plan
    assert plan.start is None
    assert plan.reasons["model"].endswith(reason)


def test_grey_photographs_are_shown_in_colours(own_hub: type[Hub], tmp_path: Path) -> None:
    plan = planned(photographs(tmp_path / "data", mode="L")).plan
    assert plan.start.path == BEST
    assert plan.preprocess.channels == 3


def test_a_run_and_its_repetition_by_the_plan(
    own_hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = {"device": "cpu", "precision": "float32", "threads": 1, "quiet": True, "no_cache": True}
    data = photographs(tmp_path / "data")
    run = vitlab.train(data, epochs=1, out=tmp_path / "run", **common)
    assert run.bundle.card.blueprint.name == "vit_small_patch32_224"
    assert "--from" not in run.bundle.card.command
    own_hub.asked.clear()
    again = vitlab.train(data, plan=run.folder / "config.yaml", from_=BEST, out=tmp_path / "again", quiet=True)
    assert own_hub.asked == []
    for name in ("bundle/model.safetensors", "config.yaml"):
        assert (again.folder / name).read_bytes() == (run.folder / name).read_bytes()
    by_name = {"from_": "vit_small_patch32_224", "resume": tmp_path / "again", "quiet": True}
    assert vitlab.train(**by_name).evaluation == run.evaluation
    (again.folder / "report.html").unlink()
    with pytest.raises(UserError, match="planned with another --from than none"):
        vitlab.train(resume=again.folder, from_="none")
    fresh = vitlab.train(data, from_=None, epochs=1, out=tmp_path / "fresh", size=96, **common)
    assert "--from none" in fresh.bundle.card.command
    assert Plan.read(fresh.folder / "config.yaml").start is None


@pytest.mark.parametrize("device", ["cpu", "mps", "cuda"])
def test_the_table_has_the_best_first_and_for_a_cpu_only_light_ones(device: str) -> None:
    names, why = auto.pretrained(224, 1_000, 3, device)
    assert why == ""
    accuracies = [CATALOGUE[name].top1 for name in names]
    assert accuracies == sorted(accuracies, reverse=True)
    work = [cost(registry.blueprint(name), batch=1).gmacs for name in names]
    assert max(work) < {"cpu": 1.3, "mps": 5, "cuda": 20}[device]
