"""A hub of our own on this machine: what it serves, what it was asked, and one that never answers."""

import contextlib
import hashlib
import http.server
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pytest
from safetensors.torch import save_file
from torch import Tensor

import vitlab
from vitlab.weights.catalogue import CATALOGUE
from vitlab.weights.maps import vit
from vitlab.weights.maps.links import to_theirs
from vitlab.weights.maps.timm import TIMM

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
        if "/resolve/" in path:  # and not what the library asks for once a day on its own account
            self.asked.append(f"{self.command} {path}")
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
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()[:32]}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """An empty hub; its address."""
    Hub.asked.clear()
    Hub.files.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """The address of a hub that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def asks(patch: pytest.MonkeyPatch, address: str, cache: Path, offline: bool = False) -> None:
    """From now on this process asks the hub at that address, and keeps what it fetches in that cache."""
    from huggingface_hub import close_session, constants

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        patch.delenv(name, raising=False)
        patch.delenv(name.lower(), raising=False)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "ENDPOINT", address)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))
    patch.setattr(constants, "HF_HUB_OFFLINE", offline)
    close_session()


def put_on_hub(name: str, **changes: Any) -> str:
    """A checkpoint of the catalogue with fresh weights, put on the hub made small; the name it has there."""
    source = CATALOGUE[name].source
    model = {"depth": 1, **changes}
    state = timm_state(name, model)
    repository = source.replace("timm:", "timm/")
    words = {"image": "img_size", "width": "embed_dim", "block__attention__heads": "num_heads"}
    size = model.get("image", CATALOGUE[name].image)
    config = {
        "architecture": name,
        "num_classes": 1000,
        "model_args": {words.get(field, field): value for field, value in model.items()},
        "pretrained_cfg": {"input_size": [3, size, size], "mean": [0.5] * 3, "std": [0.5] * 3, "crop_pct": 0.9},
    }
    Hub.files[f"{repository}/config.json"] = json.dumps(config).encode()
    with tempfile.TemporaryDirectory() as folder:
        save_file(state, Path(folder) / "x")
        Hub.files[f"{repository}/model.safetensors"] = (Path(folder) / "x").read_bytes()
    return source


def timm_state(name: str, changes: dict[str, Any]) -> dict[str, Tensor]:
    """Fresh weights of a named model, changed, under timm's names."""
    blueprint = vitlab.blueprint(name).change(**changes)
    theirs = to_theirs(vit.links(blueprint, TIMM), blueprint.build().state_dict())
    return {key: value.contiguous() for key, value in theirs.items()}
