"""A checkpoint on disk: one safetensors file with every tensor, and in its header what else a run has to remember.

One file is there whole or not at all, holds no code, and is opened without running any. Lightning's own format is a
pickle, leaves random states out and has to be loaded before it can be checked; so a run keeps this one instead.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from vitlab.errors import UserError
from vitlab.files import replacing, system_errors

FORMAT = 1
KEPT = 2  # the last one, and the one before it in case the disk has lost the last
BEST = "best.safetensors"


class Figures(BaseModel):
    """Where `metrics.csv` was and what the epoch had shown so far."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = 0
    seconds: float = 0.0
    images: int = 0


class Best(BaseModel):
    """The best epoch so far, and for how many epochs there was no better one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    accuracy: float = -1.0
    epoch: int = 0
    waited: int = 0


class State(BaseModel):
    """Where a run stands: `batch` batches of epoch `epoch` are done, both counted from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    epoch: int
    batch: int
    step: int
    complete: bool = False  # nothing is left to train
    schedule: dict[str, Any] = {}
    rates: tuple[float, ...] = ()
    averaged: int = 0
    figures: Figures = Figures()
    best: Best = Best()
    random: tuple[dict[str, Any], ...] = ()  # of Python and numpy, one entry a process; torch's are tensors


@dataclass(frozen=True)
class Checkpoint:
    """What was read, from where, and what is wrong with newer files that could not be."""

    state: State
    tensors: Mapping[str, Tensor]
    path: Path
    passed_over: tuple[str, ...] = ()

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one part, `model` or `average` or `optimizer`, by what they are called there."""
        return {key.removeprefix(f"{name}/"): t for key, t in self.tensors.items() if key.startswith(f"{name}/")}


def write(folder: Path, state: State, tensors: Mapping[str, Tensor]) -> Path:
    """One more checkpoint, whole or not at all; older ones than the last `KEPT` go when it is there."""
    check_finite(tensors, f"step {state.step}")
    path = folder / f"step-{state.step:09d}.safetensors"
    save(path, tensors, state)
    for old in _paths(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return path


def save(path: Path, tensors: Mapping[str, Tensor], state: State) -> None:
    """Write one file of tensors with the state in its header."""
    with replacing(path) as beside, system_errors():
        save_file(dict(tensors), beside, metadata={"vitlab": state.model_dump_json()})


def newest(folder: Path) -> Checkpoint | None:
    """The last checkpoint that can be read; None where there is none."""
    complaints: list[str] = []
    for path in _paths(folder):
        try:
            found = read(path)
        except UserError as error:
            complaints.append(str(error))
        else:
            return Checkpoint(found.state, found.tensors, path, tuple(complaints))
    if complaints:
        raise UserError(
            f"no checkpoint in {folder} can be read: {complaints[0]}; start the run again in another folder"
        )
    return None


def read(path: Path) -> Checkpoint:
    """A checkpoint; one sentence when the file is none, or not whole."""
    try:
        with safe_open(path, framework="pt") as file:
            state = _state(path, file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except SafetensorError as error:
        raise UserError(f"{path} is not whole ({str(error).rpartition('header: ')[2]})") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return Checkpoint(state, tensors, path)


def check_finite(tensors: Mapping[str, Tensor], when: str) -> None:
    """Refuse to keep what no training can go on from."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise UserError(diverged(f"{name.rpartition('/')[2]} of the weights is no number any more at {when}"))


def diverged(what: str) -> str:
    """What to say of a run that has blown up."""
    return f"{what}; the run stops here. Take a lower --rate or a longer --warmup; the last checkpoint is kept"


def _paths(folder: Path) -> list[Path]:
    """Newest first: the names sort as the steps do."""
    return sorted(folder.glob("step-*.safetensors"), reverse=True)


def _state(path: Path, metadata: Mapping[str, str]) -> State:
    try:
        data = json.loads(metadata["vitlab"])
        if isinstance(data, dict) and data.get("format", FORMAT) > FORMAT:
            raise UserError(f"{path} was written by a newer vitlab; update this one")
        return State.model_validate(data)
    except (KeyError, TypeError, json.JSONDecodeError, ValidationError):
        raise UserError(f"{path} is no checkpoint of vitlab's") from None


def merged(parts: Iterable[tuple[str, Mapping[str, Tensor]]]) -> dict[str, Tensor]:
    """Tensors of several parts under one name each, as a file holds them."""
    return {f"{part}/{name}": tensor for part, tensors in parts for name, tensor in tensors.items()}
