"""One WebDataset shard: a tar file in which the files of a sample share their name up to the first dot.

    0001.jpg  0001.cls  0002.jpg  0002.cls  ...

Its samples are listed once, from the headers, with where each picture lies; so any of them can be read alone, in any
order, by any process. The list is kept in the user's cache until the shard changes.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from vitlab.data.listing import SUFFIXES
from vitlab.data.sources.columns import LABELS
from vitlab.data.sources.labelled import Label
from vitlab.data.sources.tar import DamagedError, Member, members
from vitlab.errors import UserError
from vitlab.files import cache_folder, write_text

LARGEST_PICTURE = 1 << 28  # bytes
_LARGEST_LABEL, _LARGEST_JSON = 1 << 12, 1 << 24
_LIKED = ("jpg", "jpeg", "png", "webp")  # where a sample holds several pictures
_VERSION = 1
_ABOUT = re.compile(r"__[^/]*__(/|$)")  # files about the shard, by WebDataset's rule


@dataclass(frozen=True)
class Shard:
    """The samples of a shard in their order: keys within it, suffixes, labels, and where the pictures' bytes are."""

    keys: list[str]
    suffixes: list[str]
    labels: list[Label]
    offsets: list[int]
    sizes: list[int]
    pictureless: list[str]  # keys of samples without a picture
    damaged: bool  # it ends before its end

    def checked(self, end: int) -> "Shard":
        """Itself, if it can be true of a shard of so many bytes; the cache is a file like any other."""
        lists = (self.keys, self.suffixes, self.labels, self.offsets, self.sizes)
        if (
            not all(isinstance(one, list) for one in (*lists, self.pictureless))
            or len({len(one) for one in lists}) != 1
        ):
            raise ValueError
        words = all(isinstance(one, str) for one in (*self.keys, *self.suffixes, *self.pictureless))
        numbers = all(type(one) is int and 0 <= one <= end for one in (*self.offsets, *self.sizes))
        if not words or not numbers or not all(one is None or type(one) in (int, str) for one in self.labels):
            raise ValueError
        return self


def index(path: Path) -> Shard:
    """The samples of a shard, as the cache has them or its headers say."""
    try:
        status = path.stat()
        known = {"version": _VERSION, "bytes": status.st_size, "changed": status.st_mtime_ns}
        kept = (
            cache_folder("shards") / f"{hashlib.sha256(str(path.resolve()).encode(errors='replace')).hexdigest()}.json"
        )
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            held = json.loads(kept.read_text(encoding="utf-8"))
            if {name: held[name] for name in known} == known:
                return Shard(**held["shard"]).checked(status.st_size)
        found = _read(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    with suppress(OSError, UserError):  # without a cache it is only slower
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps({**known, "shard": asdict(found)}))
    return found


@dataclass
class _Sample:
    """Files of one key."""

    pictures: dict[str, Member] = field(default_factory=dict)
    label: Member | None = None
    about: Member | None = None


def _read(path: Path) -> Shard:
    samples: dict[str, _Sample] = {}
    damaged = False
    seen: set[str] = set()
    try:
        for member in members(path):
            key, suffix = _parted(member.name)
            if not key:
                continue
            if member.name in seen:
                raise UserError(f"{path} holds {member.name[:200]!r} twice; write it again with a key for each sample")
            seen.add(member.name)
            sample = samples.setdefault(key, _Sample())
            if f".{suffix.rpartition('.')[2]}" in SUFFIXES:
                sample.pictures[suffix] = member
            elif suffix == "cls":
                sample.label = member
            elif suffix == "json":
                sample.about = member
    except DamagedError:
        damaged = True
        if samples and not samples[last := next(reversed(samples))].pictures:  # it lies behind the end
            del samples[last]
    found = Shard([], [], [], [], [], [key for key, one in samples.items() if not one.pictures], damaged)
    with path.open("rb", buffering=0) as handle:
        for key, sample in samples.items():
            if sample.pictures:
                suffix = min(sample.pictures, key=_rank)
                found.keys.append(key)
                found.suffixes.append(suffix)
                found.offsets.append(sample.pictures[suffix].offset)
                found.sizes.append(sample.pictures[suffix].size)
                found.labels.append(_label(path, handle, sample))
    return found


def _parted(name: str) -> tuple[str, str]:
    """Key and suffix, by WebDataset's rule: the suffix begins at the name's first dot; no key for others."""
    place = PurePosixPath(name)
    stem, _, suffix = place.name.partition(".")
    if not stem or not suffix or _ABOUT.match(name):
        return "", ""
    return place.with_name(stem).as_posix(), suffix.lower()


def _rank(suffix: str) -> tuple[int, int, str]:
    """The picture is `jpg` rather than `mask.png`, and of several kinds the usual one."""
    return suffix.count("."), _LIKED.index(suffix) if suffix in _LIKED else len(_LIKED), suffix


def _label(path: Path, handle: Any, sample: _Sample) -> Label:
    """What `.cls` holds, else what `.json` calls a label; None where neither says."""
    if sample.label is not None and sample.label.whole:
        return _word(_small(path, handle, sample.label, _LARGEST_LABEL))
    if sample.about is None or not sample.about.whole:
        return None
    try:
        held = json.loads(_small(path, handle, sample.about, _LARGEST_JSON))
    except (ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        return None
    return next(_labels_in(held), None)


def _labels_in(held: Any) -> Iterator[Label]:
    for name in (*LABELS, "cls"):
        value = held.get(name) if isinstance(held, dict) else None
        if type(value) in (int, str):
            yield value


def _word(held: bytes) -> Label:
    """A whole number as one, so that it can stand for a class by its place."""
    try:
        word = held.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    number = len(word) < 18 and word.removeprefix("-").isdecimal() and word.isascii() and str(int(word)) == word
    return int(word) if number else word or None


def _small(path: Path, handle: Any, member: Member, most: int) -> bytes:
    if member.size > most:
        raise UserError(f"{path} holds {member.name[:200]!r} of {member.size:,} bytes, which can be no label; mend it")
    handle.seek(member.offset)
    return handle.read(member.size)
