"""One file or folder of weights, by what it holds and not by what it is called."""

from pathlib import Path

from vitlab.errors import UserError
from vitlab.weights.reading.checkpoint import Checkpoint
from vitlab.weights.reading.npz import open_npz
from vitlab.weights.reading.safetensors_file import open_index, open_safetensors
from vitlab.weights.reading.torch_file import open_torch

INDEX = "model.safetensors.index.json"
IN_FOLDER = ("model.safetensors", INDEX, "pytorch_model.bin")  # in the order they are looked for


def open_folder(folder: Path) -> Checkpoint:
    """The weights in another library's folder."""
    for name in IN_FOLDER:
        if (folder / name).is_file():
            return open_index(folder / name) if name == INDEX else open_file(folder / name)
    raise UserError(f"{folder} holds no weights: there is none of {', '.join(IN_FOLDER)} in it")


def open_file(path: Path) -> Checkpoint:
    """The weights in a file, by its first bytes: safetensors, torch's or NumPy's zip, or torch's older pickle."""
    if path.name.endswith(".index.json"):
        return open_index(path)
    if not path.is_file():
        raise UserError(f"{path} is no file" if path.exists() else f"no file at {path}")
    try:
        with path.open("rb") as handle:
            head = handle.read(16)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if head[:2] == b"PK":
        return open_npz(path) if path.suffix == ".npz" else open_torch(path)
    if head[:1] == b"\x80":
        return open_torch(path)
    if head[8:9] == b"{":
        return open_safetensors(path)
    raise UserError(f"{path} is no file of weights that is known here (safetensors, .npz, torch's .pth or .bin)")
