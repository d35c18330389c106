"""Names on the hub, asked of a hub of our own: fetched once, then from the cache, and no secret told."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import vitlab
from tests.hub import COMMIT, Hub, asks, put_on_hub, serving, silent, timm_state
from vitlab.weights import hub
from vitlab.weights.catalogue import CATALOGUE

SECRET = "hf_" + "s3cret" * 6


@pytest.fixture
def served(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A hub with two models, and the environment in which a process asks it."""
    with serving() as address:
        source = put_on_hub("vit_tiny_patch16_224", image=32).replace("timm:", "timm/")
        shard = "model-1.safetensors"
        Hub.files["someone/sharded/config.json"] = Hub.files[f"{source}/config.json"]
        Hub.files[f"someone/sharded/{shard}"] = Hub.files[f"{source}/model.safetensors"]
        placed = dict.fromkeys(timm_state("vit_tiny_patch16_224", {"depth": 1}), shard)
        Hub.files["someone/sharded/model.safetensors.index.json"] = json.dumps({"weight_map": placed}).encode()
        names = {str(i): "crane" if i in (134, 517) else f"thing {i}" for i in range(1000)}
        Hub.files["datasets/huggingface/label-files/imagenet-1k-id2label.json"] = json.dumps(names).encode()
        yield {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("HF_") and "proxy" not in name.lower()
            },
            "HF_ENDPOINT": address,
            "HF_HOME": str(tmp_path / "home"),
            "HF_TOKEN": SECRET,
            "HF_HUB_DISABLE_XET": "1",
            "PYTHONPATH": str(Path(vitlab.__file__).parents[1]),
        }


def _vitlab(environment: dict[str, str], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vitlab.cli import main; main()", *words]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=120, check=False
    )
    assert SECRET not in done.stdout + done.stderr
    return done


def test_fetched_once_and_then_from_the_cache(served: dict[str, str], tmp_path: Path) -> None:
    done = _vitlab(served, "convert", "vit_tiny_patch16_224", "one", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "  classes of the same name get their number behind it: crane\n"
    bundle = vitlab.load(tmp_path / "one")
    assert bundle.classes[0] == "thing 0"
    assert (bundle.classes[134], bundle.classes[517]) == ("crane (134)", "crane (517)")
    assert bundle.card.preprocess.mean == (0.5, 0.5, 0.5)
    assert bundle.card.command == "vitlab convert vit_tiny_patch16_224 one"
    Hub.asked.clear()
    offline = served | {"HF_HUB_OFFLINE": "1"}
    done = _vitlab(offline, "convert", CATALOGUE["vit_tiny_patch16_224"].source, "two", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Hub.asked == []
    again = vitlab.load(tmp_path / "two")
    assert again.classes == bundle.classes
    assert all(
        torch.equal(one, two) for one, two in zip(again.model.parameters(), bundle.model.parameters(), strict=True)
    )


def test_shards_are_fetched_all(served: dict[str, str], tmp_path: Path) -> None:
    done = _vitlab(served, "convert", "hf:someone/sharded", "one", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "does not name its 1000 classes: they are taken to be ImageNet's" in done.stderr
    assert len(vitlab.load(tmp_path / "one").classes) == 1000


@pytest.mark.parametrize(
    ("words", "more", "sentence"),
    [
        (("hf:nobody/nothing",), {}, "the hub has no nobody/nothing, or shows it only to those who log in"),
        (("hf:closed/model",), {}, "closed/model asks for consent"),
        (("hf:closed/model",), {"HF_HUB_OFFLINE": "1"}, "closed/model is not in the cache and the hub cannot be asked"),
        (
            ("timm:unknown",),
            {"HF_ENDPOINT": "http://127.0.0.1:9"},
            "timm/unknown is not in the cache and the hub cannot be",
        ),
        (("hf:just-a-name",), {}, "is no name of the hub; write timm:NAME or hf:OWNER/NAME"),
        (("timm:../../etc",), {}, "is no name of the hub"),
        (("deit_tniy_patch16_224",), {}, "did you mean"),
    ],
)
def test_refusals(served: dict[str, str], tmp_path: Path, words, more, sentence: str) -> None:
    done = _vitlab(served | more, "convert", *words, "one", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("vitlab: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert not (tmp_path / "one").exists()


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A checkpoint that this process has in its cache, by the name that a hub has it under."""
    with serving() as address:
        asks(monkeypatch, address, tmp_path / "cache")
        source = put_on_hub("vit_tiny_patch16_224", image=32)
        assert not hub.at_hand(source)
        assert hub.why_not(source) == ""
        vitlab.load(source, say=lambda _: None)
        Hub.asked.clear()
        yield source


def test_a_commit_in_the_cache_asks_nobody(fetched: str) -> None:
    assert hub.at_hand(fetched)
    assert hub.revision(fetched) == COMMIT
    vitlab.load(f"{fetched}@{COMMIT}", say=lambda _: None)
    assert Hub.asked == []


def test_weights_that_are_there_in_part_are_not_at_hand(
    tmp_path: Path, fetched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = tmp_path / "cache" / fetched.replace("timm:", "models--timm--") / "snapshots" / COMMIT
    (snapshot / "model.safetensors").rename(snapshot / "model-1.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
    assert not hub.at_hand(fetched)
    (snapshot / "model-2.safetensors").touch()
    assert hub.at_hand(fetched)
    (snapshot / "model.safetensors.index.json").unlink()
    assert not hub.at_hand(fetched)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(vitlab.UserError, match="is not in the cache and the hub cannot be asked"):
        vitlab.load(fetched)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("how", ["closed", "silent"])
def test_a_hub_that_does_not_answer_is_asked_once(
    tmp_path: Path, fetched: str, monkeypatch: pytest.MonkeyPatch, how: str, kept: bool
) -> None:
    """One time-out of a second, where the library alone waits for six, and for growing pauses between."""
    with silent() as address:
        asks(
            monkeypatch, address if how == "silent" else "http://127.0.0.1:9", tmp_path / ("cache" if kept else "none")
        )
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 1)
        monkeypatch.setattr(hub, "_PATIENCE", 0.5)
        start = time.monotonic()
        assert hub.why_not(fetched) == "the hub does not answer"
        if kept:
            assert len(vitlab.load(fetched, say=lambda _: None).classes) == 1000
        else:
            with pytest.raises(vitlab.UserError, match="is not in the cache and the hub cannot be asked"):
                vitlab.load(fetched)
        assert time.monotonic() - start < 10


def test_why_the_hub_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as address:
        asks(monkeypatch, address, tmp_path)
        assert hub.why_not("hf:closed/model") == "the hub does not give closed/model (403)"
        assert hub.why_not("hf:nobody/nothing") == "the hub does not give nobody/nothing (404)"
        assert len(Hub.asked) == 2
        asks(monkeypatch, address, tmp_path, offline=True)
        assert hub.why_not("hf:closed/model") == "HF_HUB_OFFLINE keeps from asking the hub"
        assert len(Hub.asked) == 2


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.place("timm:vit_base_patch16_224.augreg_in21k_ft_in1k").repository.startswith("timm/vit_base")
    assert hub.place("hf:google/vit-base-patch16-224@main") == ("google/vit-base-patch16-224", "main")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert not hub.at_hand("hf:google/vit-base-patch16-224")
    assert hub.revision("hf:google/vit-base-patch16-224") is None


def test_the_catalogue_is_of_known_models() -> None:
    from vitlab.models import registry

    for name, entry in CATALOGUE.items():
        blueprint = registry.blueprint(name)
        assert blueprint.image == (entry.image, entry.image)
        assert hub.place(entry.source).repository.startswith(f"timm/{name}.")
        assert (entry.top1 is None) == (blueprint.classes == 0)
        assert entry.crop == (0.9 if entry.image == 224 else 1.0)
        assert entry.top1 is None or 70 < entry.top1 < 90
