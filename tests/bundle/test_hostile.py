"""Bundles from strangers: each way of being broken is one sentence, at once, with no code run and no memory taken."""

import json
import os
import pickle
import re
import resource
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import vitlab

Tensors = dict[str, torch.Tensor]


def _refused(bundle: Path) -> str:
    """What loading says; in a moment, and within the memory that was there before."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(vitlab.UserError) as refusal:
        vitlab.load(bundle)
    assert time.perf_counter() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # KiB
    assert "\n" not in str(refusal.value)
    return str(refusal.value).replace(str(bundle), "B")


def _change(bundle: Path, **entries: Any) -> None:
    """Set entries of the card; double underscores reach inside."""
    card = json.loads((bundle / "model.json").read_text())
    for path, value in entries.items():
        *way, last = path.split("__")
        inner = card
        for step in way:
            inner = inner[step]
        inner[last] = value
    (bundle / "model.json").write_text(json.dumps(card))


def _header(entries: dict[str, Any]) -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize("share", [0, 0.0005, 0.05, 0.5, 0.999])
def test_weights_cut_short(saved: Path, share: float) -> None:
    whole = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(whole[: int(share * len(whole))])
    sentence = _refused(saved)
    assert sentence.startswith("B/model.safetensors is truncated or no safetensors file (")
    assert sentence.endswith("); copy or train it again")


@pytest.mark.parametrize(
    "content",
    [
        _header({"a": {"dtype": "F32", "shape": [2**38], "data_offsets": [0, 2**40]}}) + bytes(100),
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2**64 - 1) + bytes(100),
        _header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}) + bytes(4),
        b"\x80\x04 no safetensors at all",
    ],
    ids=["a terabyte", "a header without end", "a header of all ones", "less than nothing", "noise"],
)
def test_weights_that_lie_about_their_size(saved: Path, content: bytes) -> None:
    (saved / "model.safetensors").write_bytes(content)
    assert _refused(saved).startswith("B/model.safetensors is truncated or no safetensors file (")


class _Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("by_torch", [False, True])
def test_code_in_a_pickle_is_not_run(saved: Path, tmp_path: Path, by_torch: bool) -> None:
    mark = tmp_path / "run"
    if by_torch:
        torch.save({"head.weight": _Trap(mark)}, saved / "model.safetensors")
    else:
        (saved / "model.safetensors").write_bytes(pickle.dumps(_Trap(mark)))
    assert _refused(saved).startswith("B/model.safetensors is truncated or no safetensors file (")
    assert not mark.exists()
    pickle.loads(pickle.dumps(_Trap(mark)))
    assert mark.exists()  # so it would have been


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            lambda t: t.pop("head.weight"),
            "B/model.safetensors lacks head.weight: these weights are not of the model that model.json describes",
        ),
        (
            lambda t: t.update(more=torch.zeros(1)),
            "B/model.safetensors has more too many: these weights are not of the model that model.json describes",
        ),
        (
            lambda t: t.update({"head.bias": torch.zeros(6)}),
            "B/model.safetensors: head.bias is [6], the model in model.json wants [5]",
        ),
        (
            lambda t: t.update({"head.bias": torch.zeros(5, dtype=torch.int32)}),
            "B/model.safetensors: head.bias holds torch.int32, the model in model.json wants torch.float32",
        ),
    ],
    ids=["missing", "extra", "shape", "kind"],
)
def test_weights_of_another_model(saved: Path, edit: Callable[[Tensors], Any], sentence: str) -> None:
    tensors = load_file(saved / "model.safetensors")
    edit(tensors)
    save_file(tensors, saved / "model.safetensors")
    assert _refused(saved) == sentence


def test_no_weights_at_all(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    assert _refused(saved) == "B has no model.safetensors: the bundle is not whole; copy or train it again"


def test_a_small_file_that_describes_a_giant(saved: Path) -> None:
    _change(saved, blueprint__width=65536, blueprint__depth=1024, blueprint__block__attention__heads=64)
    assert "and 12273 more: these weights are not of the model that model.json describes" in _refused(saved)


def test_a_giant_without_a_single_weight(saved: Path) -> None:
    """Positions by formula are in no file: an image of 65,536 pixels would take them from memory alone."""
    _change(saved, blueprint__image=[65536] * 2, preprocess__size=[65536] * 2, blueprint__position={"kind": "sincos"})
    assert _refused(saved) == (
        "B/model.json: blueprint: an image of 65536x65536 makes 268,435,457 tokens, more than 262,144; "
        "take larger patches or a smaller image"
    )


def test_tables_that_no_file_holds(saved: Path) -> None:
    """Offsets of a relative bias grow with the square of the tokens and are computed when the model is built."""
    _change(
        saved,
        blueprint__image=[512] * 2,
        preprocess__size=[512] * 2,
        blueprint__position={"kind": "none"},
        blueprint__block__attention__core={"kind": "local", "radius": 100},
    )
    tensors = load_file(saved / "model.safetensors")
    del tensors["position.table.vectors.weight"]
    save_file(tensors, saved / "model.safetensors")
    assert re.fullmatch(
        r"B/model.json describes [0-9.]+ GiB of positions and masks; more than 0.5 are not computed for a bundle",
        _refused(saved),
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not whole JSON (expecting value in line 1, column 1); copy the bundle again"),
        (
            b'{"format": 1, "blue',
            "is not whole JSON (unterminated string starting at in line 1, column 15); copy the bundle again",
        ),
        (bytes(range(256)), "is no text; copy the bundle again"),
        (b"[" * 200_000, "is no card of vitlab's; copy the bundle again"),
        (b'{"format": ' + b"9" * 9000 + b"}", "is no card of vitlab's; copy the bundle again"),
        (b"[]", "has no format number; it is no card of vitlab's"),
        (b'{"format": true}', "has no format number; it is no card of vitlab's"),
        (b'{"format": "1"}', "has no format number; it is no card of vitlab's"),
        (b'{"format": 2}', "has format 2, newer than 1, which is read here; update vitlab"),
        (b'{"format": 0}', "has format 0, which never was; it is no card of vitlab's"),
        (b" " * (64 * 2**20 + 1), "is larger than any card is (64 MiB); it is none of vitlab's"),
    ],
)
def test_a_card_that_is_none(saved: Path, content: bytes, sentence: str) -> None:
    (saved / "model.json").write_bytes(content)
    assert _refused(saved) == f"B/model.json {sentence}"


def _nested(depth: int) -> Any:
    inner: Any = 1
    for _ in range(depth):
        inner = {"kind": inner}
    return inner


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"colour": 1}, "B/model.json: colour: no such field"),
        ({"blueprint__colour": 1}, "B/model.json: blueprint.colour: no such field"),
        ({"blueprint__pool__colour": 1}, "B/model.json: blueprint.pool.colour: no such field"),
        ({"blueprint__kind": "foo"}, "B/model.json: blueprint: no blueprint of kind 'foo'; there"),
        ({"blueprint__patch": _nested(400)}, "B/model.json: blueprint.patch: wants a kind, one of conv, "),
        ({"blueprint__depth": "x" * 5000}, f"B/model.json: blueprint.depth wants a whole number, not '{'x' * 59}..."),
        ({"classes": ["a", "b"]}, "B/model.json: 2 class names for a model of 5 classes"),
        ({"classes": ["a"] * 5}, "B/model.json: a class name stands there twice"),
        ({"preprocess__size": [8, 8]}, "B/model.json: the model takes images of 8x12, preprocess gives 8x8"),
        ({"preprocess__size": [0, 8]}, "B/model.json: preprocess.size.0 wants at least 1, not 0"),
        ({"preprocess__channels": 1}, "B/model.json: preprocess: wants 1 means and deviations, not 3 and 3"),
        ({"preprocess__std": [1, 1, 0]}, "B/model.json: preprocess: wants deviations above zero"),
        ({"preprocess__mean": [0, 0, float("nan")]}, "B/model.json: preprocess.mean.2 wants a finite number, not nan"),
        ({"preprocess__crop": 1e-300}, "B/model.json: preprocess.crop wants at least 0.1, not 1e-300"),
        ({"blueprint__block__mlp__ratio": 1e300}, "B/model.json"),
        ({"blueprint__init__std": -1}, "B/model.json"),
        ({"blueprint__prefix__registers": 10**12}, "B/model"),
    ],
)
def test_a_card_that_makes_no_sense(saved: Path, entries: dict[str, Any], sentence: str) -> None:
    _change(saved, **entries)
    assert _refused(saved).startswith(sentence)
