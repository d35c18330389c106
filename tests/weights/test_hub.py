"""Names on the hub, asked of a hub of our own: fetched once, then from the cache, and no secret told."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import pytest
import torch
from safetensors.torch import save_file

import vitlab
from vitlab.weights import hub
from vitlab.weights.catalogue import CATALOGUE

SECRET = "hf_" + "s3cret" * 6
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.BaseHTTPRequestHandler):
    """The two answers that fetching a file needs."""

    files: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = unquote(urlsplit(self.path).path).lstrip("/")
        self.asked.append(path)
        repository, _, rest = path.partition("/resolve/")
        name = f"{repository}/{rest.partition('/')[2]}"
        content = self.files.get(name)
        gated = repository.startswith("closed/")
        known = any(file.startswith(f"{repository}/") for file in self.files)
        self.send_response(403 if gated else 200 if content is not None else 404)
        if gated or content is None:
            code = "GatedRepo" if gated else "EntryNotFound" if known else "RepoNotFound"
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", f"{code} for {self.headers.get('Authorization')}")
            content = b""
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hash(name) & 0xFFFFFFFF:x}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def served(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A hub with two models, and the environment in which a process asks it."""
    Hub.asked.clear()
    Hub.files.clear()
    blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(image=32, depth=1)
    model = blueprint.build()
    from vitlab.weights.maps import vit
    from vitlab.weights.maps.links import to_theirs
    from vitlab.weights.maps.timm import TIMM

    state = {
        key: value.contiguous() for key, value in to_theirs(vit.links(blueprint, TIMM), model.state_dict()).items()
    }
    save_file(state, tmp_path / "x")
    config = {
        "architecture": "vit_tiny_patch16_224",
        "num_classes": 1000,
        "model_args": {"img_size": 32, "depth": 1},
        "pretrained_cfg": {"input_size": [3, 32, 32], "mean": [0.5] * 3, "std": [0.5] * 3, "crop_pct": 0.9},
    }
    names = {str(i): "crane" if i in (134, 517) else f"thing {i}" for i in range(1000)}
    for repository in (CATALOGUE["vit_tiny_patch16_224"].source.replace("timm:", "timm/"), "someone/sharded"):
        Hub.files[f"{repository}/config.json"] = json.dumps(config).encode()
    Hub.files[f"{CATALOGUE['vit_tiny_patch16_224'].source.replace('timm:', 'timm/')}/model.safetensors"] = (
        tmp_path / "x"
    ).read_bytes()
    Hub.files["someone/sharded/model.safetensors.index.json"] = json.dumps(
        {"weight_map": dict.fromkeys(state, "model-1.safetensors")}
    ).encode()
    Hub.files["someone/sharded/model-1.safetensors"] = (tmp_path / "x").read_bytes()
    Hub.files["datasets/huggingface/label-files/imagenet-1k-id2label.json"] = json.dumps(names).encode()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {
        **{key: value for key, value in os.environ.items() if not key.startswith("HF_") and "proxy" not in key.lower()},
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path / "home"),
        "HF_TOKEN": SECRET,
        "HF_HUB_DISABLE_XET": "1",
        "PYTHONPATH": str(Path(vitlab.__file__).parents[1]),
    }
    server.shutdown()
    server.server_close()


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
    assert "classes of the same name get their number behind it: crane" in done.stderr
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


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.place("timm:vit_base_patch16_224.augreg_in21k_ft_in1k").repository.startswith("timm/vit_base")
    assert hub.place("hf:google/vit-base-patch16-224@main") == ("google/vit-base-patch16-224", "main")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert not hub.at_hand("hf:google/vit-base-patch16-224")


def test_the_catalogue_is_of_known_models() -> None:
    from vitlab.models import registry

    for name, entry in CATALOGUE.items():
        blueprint = registry.blueprint(name)
        assert blueprint.image == (entry.image, entry.image)
        assert hub.place(entry.source).repository.startswith(f"timm/{name}.")
        assert (entry.top1 is None) == (blueprint.classes == 0)
        assert entry.crop == (0.9 if entry.image == 224 else 1.0)
        assert entry.top1 is None or 70 < entry.top1 < 90
