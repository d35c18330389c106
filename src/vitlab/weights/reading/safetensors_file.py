"""One safetensors file, or many that an index puts together. The library holds headers against lengths."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from torch import Tensor

from vitlab.errors import UserError
from vitlab.strangers import plain, read_json, safetensors, shapes
from vitlab.weights.reading.checkpoint import Checkpoint

_AGAIN = "download or copy it again"


def open_safetensors(path: Path) -> Checkpoint:
    """A single file."""
    with safetensors(path, _AGAIN) as file:
        known = shapes(file)

    def read(names: Iterable[str]) -> dict[str, Tensor]:
        with safetensors(path, _AGAIN) as file:
            return {name: file.get_tensor(name) for name in names}

    return Checkpoint(path, known, read)


def open_index(path: Path) -> Checkpoint:
    """Several files beside `path`, which says in which of them each tensor is."""
    placed = _placed(path)
    for file in set(placed.values()):
        if not path.with_name(file).is_file():
            raise UserError(f"{path} names {plain(file)}, which is not there; {_AGAIN}")
    shards = {file: open_safetensors(path.with_name(file)) for file in sorted(set(placed.values()))}
    for name, file in placed.items():
        if name not in shards[file].shapes:
            raise UserError(f"{path} says that {plain(file)} holds {plain(name)}, and it does not; {_AGAIN}")

    def read(names: Iterable[str]) -> dict[str, Tensor]:
        wanted = list(names)
        found: dict[str, Tensor] = {}
        for file, shard in shards.items():
            found.update(shard.read(name for name in wanted if placed[name] == file))
        return found

    return Checkpoint(path, {name: shards[file].shapes[name] for name, file in placed.items()}, read)


def shard_names(path: Path) -> list[str]:
    """The files that an index puts together."""
    return sorted(set(_placed(path).values()))


def _placed(path: Path) -> dict[str, str]:
    """The file of each tensor, all of them in the folder of the index: one that points elsewhere is no honest index."""
    data = read_json(path, "index of safetensors files", _AGAIN)
    placed = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(placed, dict) or not placed or not all(isinstance(file, str) for file in placed.values()):
        raise UserError(f"{path} does not say which file holds which weights (weight_map); {_AGAIN}")
    for file in set(placed.values()):
        if not PurePosixPath(file).name == file == PureWindowsPath(file).name or not file.endswith(".safetensors"):
            raise UserError(
                f"{path} names {plain(file)!r}, which is no safetensors file beside it; do not trust this folder"
            )
    return placed
