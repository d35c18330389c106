"""Data looked at from one end to the other: every file decoded, in parallel, and all that was seen compared.

Of each picture its hashes are kept and no pixel, so that memory grows by some hundred bytes an image.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from vitlab.data.checks import balance, links
from vitlab.data.checks.copies import Seen, copies
from vitlab.data.checks.finding import Finding
from vitlab.data.checks.held import in_memory, on_disk
from vitlab.data.checks.look import Looked, look, look_at
from vitlab.data.checks.names import odd_names
from vitlab.data.checks.near import near
from vitlab.data.checks.outcome import Checked
from vitlab.data.checks.tree import walk
from vitlab.data.decode import Picture, decode
from vitlab.data.sources import open_source
from vitlab.data.sources.folder import folder
from vitlab.data.sources.kind import kind_of
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

_CHUNK = 512
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Task:
    """An image to look at, wherever it comes from."""

    key: str
    split: str
    label: str
    look: Callable[[], Looked]


def check_folder(root: Path, tick: Tick = lambda done, whole: None) -> tuple[Checked, Callable[[str], Picture]]:
    """Everything about a folder of class folders, and how to read a picture of it by its key."""
    tree = walk(root)
    findings = [*_refusal(root), *tree.findings]
    tasks = [Task(e.key, e.split, e.label, partial(look, e.key, on_disk(e.path))) for e in tree.entries]

    def picture(key: str) -> Picture:
        return decode(tree.root / key)

    seen, said = _look(tasks, picture, tree.tops, tick)
    classes = {key for inner in tree.tops.values() for key in inner.values()}
    # Two class folders that differ by case are told as classes.
    findings = [one for one in findings if not (one.kind == "name-case" and one.key in classes)]
    splits = {split: sum(one.split == split for one in seen) for split in tree.tops}
    return Checked(str(root), tree.files, len(seen), len(tree.classes), splits, [*findings, *said]), picture


def check_source(
    data: str, root: Path | None = None, tick: Tick = lambda done, whole: None
) -> tuple[Checked, Callable[[str], Picture]]:
    """What applies to data known by name or by a list: the pictures, the copies, the counts."""
    source = open_source(data, root)
    at = {key: (samples, i) for samples in source.splits.values() for i, key in enumerate(samples.keys)}

    def picture(key: str) -> Picture:
        samples, i = at[key]
        return samples.read(i)

    listed = kind_of(data) in ("list", "parquet")
    tasks = list(_tasks(source, Path(data).parent.resolve() if listed else None))
    tops = {split: _classes(source, samples, split) for split, samples in source.splits.items()}
    seen, findings = _look(tasks, picture, tops, tick)
    findings += _names(source)
    findings += [Finding("to-know", source.name, sentence) for sentence in source.said]
    splits = {split: sum(one.split == split for one in seen) for split in source.splits}
    return Checked(data, len(tasks), len(seen), len(source.classes), splits, findings), picture


def _classes(source: Source, samples: Samples, split: str) -> dict[str, str]:
    """The classes of a split with a name to speak of each by, since none has a folder."""
    return {source.classes[label]: f"{split}/{source.classes[label]}" for label in sorted(set(samples.labels))}


def _names(source: Source) -> Iterator[Finding]:
    """What is odd about the names that the samples go by, folder by folder."""
    folders: dict[str, list[str]] = {}
    for samples in source.splits.values():
        for key in samples.keys:
            folder, slash, name = key.rpartition("/")
            folders.setdefault(folder + slash, []).append(name)
    for folder, names in folders.items():
        yield from odd_names(folder, names)


def _tasks(source: Source, beside: Path | None) -> Iterator[Task]:
    for split, samples in source.splits.items():
        for i, (key, label) in enumerate(zip(samples.keys, samples.labels, strict=True)):
            yield Task(key, split, source.classes[label], partial(_sample, samples, i, beside))


def _sample(samples: Samples, i: int, beside: Path | None) -> Looked:
    """A sample of a list is a file below its folder, one of a shard a part of it; others are read as they are."""
    key = samples.keys[i]
    if samples.content is None and beside is not None and (path := beside / key).is_file():
        if links.leads(path, beside) == "outside":
            return Looked((Finding("link-outside", key, "leads out of the list's folder; it was not opened"),))
        return look(key, on_disk(path))
    try:
        if samples.content is not None:
            return look(key, in_memory(*samples.content(i)))
        return look_at(key, samples.read(i))
    except UserError as error:
        return Looked((Finding("broken", key, str(error), leave_out=True),))


def _look(
    tasks: list[Task], picture: Callable[[str], Picture], tops: dict[str, dict[str, str]], tick: Tick
) -> tuple[list[Seen], list[Finding]]:
    """What was seen of every picture, and all findings on pictures and classes."""
    seen: list[Seen] = []
    findings: list[Finding] = []
    blank: list[tuple[str, str]] = []  # pictures of one colour are all alike, which says nothing
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for chunk in _chunks(tasks):
            for task, found in zip(chunk, pool.map(lambda task: task.look(), chunk), strict=True):
                findings += found.findings
                if found.sight is not None and found.sight.uniform:
                    blank.append((task.split, task.label))
                elif found.sight is not None:
                    sight = found.sight
                    seen.append(Seen(task.key, task.split, task.label, sight.digest, sight.difference))
                tick(1, len(tasks))
        findings += copies(seen, held_out=not {"val", "test"} <= set(tops))
        findings += near(seen, picture, pool)
    finally:
        pool.shutdown(cancel_futures=True)
    findings += balance.balance(tops, balance.count([*blank, *((one.split, one.label) for one in seen)]))
    seen += [Seen("", split, label, b"", None) for split, label in blank]
    return seen, findings


def _chunks(tasks: list[Task]) -> Iterator[list[Task]]:
    """A bounded number at a time, so that no more is waiting than is needed to keep the threads busy."""
    waiting: Iterable[Task] = iter(tasks)
    while chunk := list(islice(waiting, _CHUNK)):
        yield chunk


def _refusal(root: Path) -> Iterator[Finding]:
    """What training would say to the folder before it opens an image."""
    try:
        folder(root)
    except UserError as error:
        yield Finding("refused", ".", str(error))
