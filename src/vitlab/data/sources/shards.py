"""WebDataset shards: one tar file, a folder of them, or a pattern such as `pets-{0000..0099}.tar` or `pets-*.tar`.

Each sample has its place in an index over all shards, so that reading one is a seek, and orders, splits and resumes
are those of any other source. Labels are in `.cls` or `.json`, else the folders that the samples are in name them; a
file `classes.txt` (or `classnames.txt`) beside the shards names the classes by number, one a line.
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from vitlab.data.sources.columns import check_names
from vitlab.data.sources.labelled import Label, Pictures, labelled
from vitlab.data.sources.pattern import find_shards
from vitlab.data.sources.shard import LARGEST_PICTURE, Shard, index
from vitlab.data.sources.source import Source
from vitlab.errors import UserError

NAMES = ("classes.txt", "classnames.txt")
_LONGEST_LIST = 1 << 24  # bytes


def shards(data: str) -> Source:
    """The samples of all shards; keys are those of WebDataset below the name of the shard."""
    root, files = find_shards(data)
    name = Path(data).stem if Path(data).is_file() else root.resolve().name or "shards"
    said: list[str] = []
    found = {split: [_known(path, said) for path in paths] for split, paths in files.items()}
    if not any(shard.keys for held in found.values() for shard in held):
        raise UserError(f"{data} holds no sample with a picture; it wants files such as 0001.jpg and 0001.cls")
    folders = _are_folders_labels(found)
    if folders:
        said.append("labels are the names of the folders in the shards, which have no .cls or .json that says them")
    splits = {split: _pictures(split, root, files[split], held, folders, said) for split, held in found.items()}
    return labelled(name, splits, _names(root), said)


def _known(path: Path, said: list[str]) -> Shard:
    shard = index(path)
    if shard.damaged:
        said.append(f"{path.name} is cut short or damaged after {len(shard.keys):,} samples; copy it again")
    if gone := shard.pictureless:
        said.append(
            f"passed over in {path.name} are samples without a picture: {len(gone):,}, the first {gone[0][:200]!r}"
        )
    return shard


def _are_folders_labels(found: dict[str, list[Shard]]) -> bool:
    every = [shard for held in found.values() for shard in held]
    return not any(label is not None for one in every for label in one.labels) and all(
        "/" in key for one in every for key in one.keys
    )


def _pictures(
    split: str, root: Path, paths: Sequence[Path], held: Sequence[Shard], folders: bool, said: list[str]
) -> Pictures:
    """The samples of a split; where most have a label, those without one are passed over."""
    keys: list[str] = []
    labels: list[Label] = []
    rows: list[tuple[int, int, int]] = []  # shard, offset, size
    suffixes: list[str] = []
    for number, (path, shard) in enumerate(zip(paths, held, strict=True)):
        prefix = path.relative_to(root).with_suffix("").as_posix()
        keys += [f"{prefix}/{key}" for key in shard.keys]
        labels += [PurePosixPath(key).parent.name for key in shard.keys] if folders else shard.labels
        rows += [(number, *at) for at in zip(shard.offsets, shard.sizes, strict=True)]
        suffixes += shard.suffixes
    kept = [i for i, label in enumerate(labels) if label is not None] or list(range(len(labels)))
    if gone := len(labels) - len(kept):
        first = next(key for key, label in zip(keys, labels, strict=True) if label is None)
        said.append(f"passed over in {split} are samples without a label: {gone:,}, the first {first[:200]!r}")
    where = np.array(rows, np.int64).reshape(-1, 3)[kept]
    chosen, ends = tuple(keys[i] for i in kept), [suffixes[i] for i in kept]

    def content(i: int) -> tuple[str, bytes]:
        number, offset, size = where[i].tolist()
        return f"{chosen[i]}.{ends[i]}", _bytes(paths[number], chosen[i], offset, size)

    return Pictures(chosen, [labels[i] for i in kept], content, tuple(where[:, 0].tolist()))


def _bytes(path: Path, key: str, offset: int, size: int) -> bytes:
    if size > LARGEST_PICTURE:
        raise UserError(f"{key} has {size:,} bytes, which is no picture; leave it out")
    try:
        with path.open("rb", buffering=0) as handle:
            handle.seek(offset)
            return handle.read(size)
    except OSError as error:
        raise UserError(f"cannot read {key} in {path}: {error.strerror or error}") from None


def _names(root: Path) -> tuple[str, ...] | None:
    """The classes by number, if a file beside the shards lists them."""
    path = next((root / name for name in NAMES if (root / name).is_file()), None)
    if path is None:
        return None
    try:
        if path.stat().st_size > _LONGEST_LIST:
            raise UserError(f"{path} is too large for a list of classes")
        names = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text; it wants a class a line") from None
    names = [name.strip() for name in names if name.strip()]
    check_names(names, str(path))
    return tuple(names)
