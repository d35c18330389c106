"""Files from strangers: each way of being broken or malicious is one sentence; no code runs, no memory goes."""

import io
import json
import os
import pickle
import resource
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import vitlab
from tests.weights.test_timm_files import _links
from vitlab.weights.maps.links import to_theirs


def _refused(path: Path) -> str:
    """What loading says; in a moment, and within the memory that was there before."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(vitlab.UserError) as refusal:
        vitlab.load(path, say=lambda _: None)
    assert time.perf_counter() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024  # KiB
    assert "\n" not in str(refusal.value)
    return str(refusal.value).replace(str(path), "X")


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def _state() -> dict[str, torch.Tensor]:
    blueprint = vitlab.blueprint("vit_tiny_patch16_224").change(classes=2)
    state = to_theirs(_links(blueprint), blueprint.build().state_dict())
    return {name: tensor.contiguous() for name, tensor in state.items()}


@pytest.mark.parametrize("how", ["zip", "old", "bare", "beside good weights"])
def test_code_in_a_pickle_is_not_run(tmp_path: Path, how: str) -> None:
    mark, path = tmp_path / "run", tmp_path / "x.pth"
    trap: Any = {"model": {"head.weight": Trap(mark)}}
    if how == "bare":
        path.write_bytes(pickle.dumps(trap))
    elif how == "beside good weights":
        torch.save({"model": _state(), "args": Trap(mark)}, path)
    else:
        torch.save(trap, path, _use_new_zipfile_serialization=how == "zip")
    sentence = _refused(path)
    assert sentence.startswith(
        "X asks for posix.mkdir to be run, which a file of weights has no need of; it was not run"
    )
    assert not mark.exists()
    pickle.loads(pickle.dumps(Trap(mark)))
    assert mark.exists()  # so it would have been


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.999])
@pytest.mark.parametrize("kind", ["safetensors", "pth", "npz"])
def test_cut_short(tmp_path: Path, kind: str, share: float) -> None:
    path = tmp_path / f"x.{kind}"
    state = {"a": torch.randn(200, 30), "b": torch.randn(7)}
    if kind == "safetensors":
        save_file(state, path)
    elif kind == "pth":
        torch.save(state, path)
    else:
        np.savez(path, **{name: tensor.numpy() for name, tensor in state.items()})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert _refused(path).startswith(("X is truncated or no", "X is damaged or no", "X is no file of weights"))


def _npy(shape: str, dtype: str = "<f4", body: bytes = b"") -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def _zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_zip_bomb_of_numpys(tmp_path: Path) -> None:
    """Half a gigabyte of zeros in half a megabyte, under names that any loader would read."""
    zeros = bytes(2**29)
    path = _zip(
        tmp_path / "x.npz",
        {
            "embedding/kernel.npy": _npy(f"({2**27},)", body=zeros),
            "Transformer/encoder_norm/scale.npy": _npy("(1,)", body=bytes(4)),
        },
    )
    del zeros
    assert path.stat().st_size < 2**20
    assert "X" in _refused(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            _npy("(1099511627776,)", body=bytes(64)),
            "says that it has 192 bytes, its header makes them 4,398,046,511,232",
        ),
        (_npy("(-4,)", body=bytes(64)), "its header makes them"),
        (
            _npy("(1,)", dtype="|O", body=pickle.dumps([1])),
            "holds object, not floating-point numbers; nothing is unpickled",
        ),
        (b"no array", "X is damaged or no .npz file"),
        (b"\x93NUMPY\x01\x00" + struct.pack("<H", 65535) + b"{" * 65535, "X is damaged or no .npz file"),
    ],
)
def test_arrays_that_lie(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert sentence in _refused(_zip(tmp_path / "x.npz", {"embedding/kernel.npy": content}))


def test_an_object_array_is_not_unpickled(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    np.savez(tmp_path / "x.npz", a=np.array([Trap(mark)], dtype=object))
    assert "nothing is unpickled" in _refused(tmp_path / "x.npz")
    assert not mark.exists()


def test_a_zip_bomb_of_torchs(tmp_path: Path) -> None:
    path = _zip(tmp_path / "x.pth", {"x/data.pkl": bytes(2**28)})
    assert _refused(path) == "X: it is compressed, as torch's files never are; do not trust this file"


def test_a_torch_file_that_says_it_is_larger_than_it_is(tmp_path: Path) -> None:
    torch.save({"patch_embed.proj.weight": torch.zeros(8)}, tmp_path / "x.pth")
    with zipfile.ZipFile(tmp_path / "x.pth") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (pickled,) = [name for name in members if name.endswith("data.pkl")]
    members[pickled] = members[pickled].replace(b"K\x08", b"J\xff\xff\xff\x7f")
    path = _zip(tmp_path / "y.pth", members, zipfile.ZIP_STORED)
    assert _refused(path) == "X: it says that it holds more than its own length; do not trust this file"


def test_a_tensor_that_repeats_one_number_for_ever(tmp_path: Path) -> None:
    torch.save({"patch_embed.proj.weight": torch.zeros(1).expand(2**20, 2**16)}, tmp_path / "x.pth")
    assert _refused(tmp_path / "x.pth").startswith("X: it has a tensor larger than the numbers it is made of")


def test_a_note_of_any_number_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(b"\x80\x02]r\xff\xff\xff\x7f." * 4)
    assert "X" in _refused(tmp_path / "x.pth")


def test_a_file_of_something_else(tmp_path: Path) -> None:
    save_file({"conv.weight": torch.zeros(3), "\x1b[31mred": torch.zeros(1)}, tmp_path / "x.safetensors")
    sentence = _refused(tmp_path / "x.safetensors")
    assert sentence.startswith("X holds ?[31mred, conv.weight: no model that is known here; known are ViT, DeiT")
    (tmp_path / "y.txt").write_text("hello, this is no model at all")
    assert "is no file of weights that is known here" in _refused(tmp_path / "y.txt")


def _sharded(folder: Path, placed: dict[str, str]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architecture": "vit_tiny_patch16_224", "num_classes": 2}))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    return folder


@pytest.mark.parametrize(
    "file", ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "..\\x.safetensors", "x.bin", ""]
)
def test_an_index_that_points_out_of_its_folder(tmp_path: Path, file: str) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "secret.safetensors")
    folder = _sharded(tmp_path / "x", {"a": file})
    assert "which is no safetensors file beside it; do not trust this folder" in _refused(folder)


def test_an_index_of_files_that_are_not_there(tmp_path: Path) -> None:
    folder = _sharded(tmp_path / "x", {"a": "model-00001.safetensors"})
    assert "names model-00001.safetensors, which is not there" in _refused(folder)
    save_file({"b": torch.zeros(1)}, folder / "model-00001.safetensors")
    assert "says that model-00001.safetensors holds a, and it does not" in _refused(folder)


def test_honest_shards_are_one_model(tmp_path: Path) -> None:
    state = _state()
    names = sorted(state)
    placed = {name: f"model-{i % 3}.safetensors" for i, name in enumerate(names)}
    folder = _sharded(tmp_path / "x", placed)
    for file in set(placed.values()):
        save_file({name: state[name] for name in names if placed[name] == file}, folder / file)
    bundle = vitlab.load(folder, say=lambda _: None)
    assert torch.equal(bundle.model.head.weight, state["head.weight"])


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("[" * 100_000, "is no configuration of a model"),
        ("{}", "is no configuration of timm's or transformers'"),
        ('{"architecture": "resnet999"}', "timm's resnet999 is not built here"),
        ('{"architecture": "vit_tiny_patch16_224", "model_args": {"depth": 1000000}}', "depth"),
        ('{"architecture": "vit_tiny_patch16_224", "model_args": {"embed_dim": 65536, "depth": 1000}}', "X"),
        ('{"architecture": "vit_tiny_patch16_224", "model_args": 3}', "model_args wants named entries"),
        ('{"model_type": "swin"}', "transformers' swin is not built here"),
        ('{"model_type": "vit", "patch_size": 0}', "X"),
        ('{"model_type": "vit", "hidden_size": "a lot"}', "X"),
        ('{"model_type": ["vit"]}', "X"),
    ],
)
def test_a_configuration_that_makes_no_sense(tmp_path: Path, config: str, sentence: str) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "config.json").write_text(config)
    save_file({"patch_embed.proj.weight": torch.zeros(1)}, folder / "model.safetensors")
    assert sentence in _refused(folder)


def test_noise(tmp_path: Path) -> None:
    """Whatever a file is made of, it is a sentence: good files with bytes changed here and there."""
    good = io.BytesIO()
    torch.save({"a": torch.zeros(50), "b": torch.ones(2, 2)}, good)
    arrays = io.BytesIO()
    np.savez(arrays, a=np.zeros(50, dtype=np.float32))
    random = np.random.default_rng(0)
    for content, ending in ((good.getvalue(), "pth"), (arrays.getvalue(), "npz")):
        for _ in range(150):
            changed = bytearray(content)
            for place in random.integers(0, len(content), 6):
                changed[place] = random.integers(256)
            (tmp_path / f"x.{ending}").write_bytes(changed)
            with pytest.raises(vitlab.UserError):
                vitlab.load(tmp_path / f"x.{ending}", say=lambda _: None)
