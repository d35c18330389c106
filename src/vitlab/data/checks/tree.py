"""A folder of class folders, walked file by file: which files training would read, and what is odd about the rest.

No file that training reads is opened here, of the others the first bytes alone. Links are followed where training
follows them (a class folder, a file), and never out of the folder.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vitlab.data.checks import links, signature
from vitlab.data.checks.finding import Finding, shown
from vitlab.data.checks.names import odd_names
from vitlab.data.listing import SUFFIXES
from vitlab.data.sources.layout import SPLITS


@dataclass(frozen=True)
class Entry:
    """An image file that training would read."""

    key: str
    path: Path
    split: str
    label: str


@dataclass
class Tree:
    """What lies in the folder; `tops` holds the folder of each class by split, without a split above it by `train`."""

    root: Path
    entries: list[Entry] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tops: dict[str, dict[str, str]] = field(default_factory=dict)
    files: int = 0

    @property
    def classes(self) -> list[str]:
        return sorted({name for inner in self.tops.values() for name in inner})

    def say(self, kind: str, key: str, sentence: str, other: str | None = None, leave_out: bool = False) -> None:
        self.findings.append(Finding(kind, key, sentence, other, leave_out))


def walk(root: Path) -> Tree:
    """Every file and folder below `root`."""
    tree = Tree(root.resolve())
    folders = list(_folders(tree, tree.root))
    splits = {name: SPLITS[name.lower()] for name in folders if name.lower() in SPLITS}
    if "train" not in splits.values():
        for name in splits:
            tree.say("split-as-class", name, f"is taken for a class, since there is no folder train beside {name}")
        _classes(tree, tree.root, folders, "train")
        return tree
    for name in folders:
        if name in splits:
            top = tree.root / name
            _classes(tree, top, list(_folders(tree, top)), splits[name])
        else:
            tree.say("stray-folder", name, "lies beside the splits; training does not look into it")
    tree.tops = {split: tree.tops[split] for split in ("train", "val", "test") if split in tree.tops}
    return tree


def _folders(tree: Tree, top: Path) -> Iterator[str]:
    """The folders right below `top`, those that links lead to as well; files there belong to no class."""
    for entry in _listed(tree, top):
        key = _key(tree, Path(entry.path))
        if entry.is_symlink() and not _leads_on(tree, Path(entry.path), key):
            continue
        if entry.is_dir():
            yield entry.name
        elif Path(entry.name).suffix.lower() in SUFFIXES:
            tree.files += 1
            tree.say("stray", key, "lies in no class folder; training does not look at it")
        else:
            _other_file(tree, Path(entry.path), key)


def _classes(tree: Tree, top: Path, folders: list[str], split: str) -> None:
    tops = tree.tops.setdefault(split, {})
    for name in folders:
        tops[name] = _key(tree, top / name)
        _inside(tree, top / name, split, name)


def _inside(tree: Tree, top: Path, split: str, label: str) -> None:
    """Files of a class: those in the folders below too, which links do not lead to."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        before = len(tree.entries)
        for entry in _listed(tree, folder):
            path = Path(entry.path)
            key = _key(tree, path)
            link = entry.is_symlink()
            if link and not _leads_on(tree, path, key):
                continue
            if entry.is_dir():
                if link:
                    tree.say("link", key, "a link to a folder inside a class; training does not follow it")
                else:
                    waiting.append(path)
            elif path.suffix.lower() in SUFFIXES:
                tree.files += 1
                if link:
                    tree.say("link", key, "a link to another file of these data")
                if _regular(tree, entry, key):
                    tree.entries.append(Entry(key, path, split, label))
            else:
                _other_file(tree, path, key)
        if folder != top:
            found = len(tree.entries) - before
            tree.say("nested", _key(tree, folder), f"its images ({found:,}) count for the class {label}")


def _listed(tree: Tree, folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder by name, hidden things named and left out."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        tree.say("unreadable", _key(tree, folder), f"the folder cannot be read: {error.strerror or error}")
        return []
    prefix = "" if folder == tree.root else f"{_key(tree, folder)}/"
    for entry in found:
        if entry.name.startswith("."):
            what = "folder" if entry.is_dir(follow_symlinks=False) else "file"
            tree.files += what == "file"
            tree.say("hidden", prefix + entry.name, f"a hidden {what}; training does not look at it")
    seen = [entry for entry in found if not entry.name.startswith(".")]
    tree.findings += odd_names(prefix, [entry.name for entry in seen])
    return seen


def _leads_on(tree: Tree, path: Path, key: str) -> bool:
    """Whether a link is to be followed; if not, why is said."""
    where = links.leads(path, tree.root)
    if where == "inside":
        return True
    tree.files += 1
    if where == "outside":
        tree.say("link-outside", key, "a link that leaves the folder; it was not followed and not checked")
    elif where == "circle":
        tree.say("link-loop", key, "a link to a folder that it lies in; it was not followed")
    else:
        seen = path.suffix.lower() in SUFFIXES
        tree.say("link-broken", key, "a link to nothing, or to itself", leave_out=seen)
    return False


def _regular(tree: Tree, entry: os.DirEntry[str], key: str) -> bool:
    """Whether it is a file that ends: reading from a pipe waits for ever."""
    try:
        if stat.S_ISREG(entry.stat().st_mode):
            return True
        tree.say("special", key, "a pipe, socket or device, which is never opened", leave_out=True)
    except OSError as error:
        tree.say("unreadable", key, f"cannot be read: {error.strerror or error}", leave_out=True)
    return False


def _other_file(tree: Tree, path: Path, key: str) -> None:
    """A file that training does not look at for its name: what it is, by its first bytes."""
    tree.files += 1
    try:
        if not path.is_file():
            tree.say("other-file", key, "a pipe, socket or device; training does not look at it")
            return
        with path.open("rb") as handle:
            head = handle.read(signature.HEAD)
    except OSError:
        head = b""
    ends = f"its name ends in {shown(path.suffix)}" if path.suffix else "its name has no suffix"
    if found := signature.image_format(head):
        known = found in signature.SUFFIXES
        advice = f"end it in {signature.SUFFIXES[found][0]}" if known else "save it as PNG or JPEG"
        tree.say("ignored-image", key, f"is {found}, but {ends}, so that training does not look at it; {advice}")
    elif (other := signature.other_format(head)) and not other.startswith(("a pointer", "a database", "an HTML")):
        tree.say("other-format", key, f"is {other}; training looks at images alone")
    else:
        tree.say("other-file", key, "no image; training does not look at it")


def _key(tree: Tree, path: Path) -> str:
    return path.relative_to(tree.root).as_posix()
