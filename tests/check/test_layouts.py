"""Folders that training refuses, or that no root can make unreadable; lists and data known by name."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.check.museum import picture, save
from vitlab.commands.check import check
from vitlab.data.checks.outcome import Checked
from vitlab.data.sources import digits as digits_of
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError


def _kinds(found: Checked) -> list[tuple[str, str]]:
    return sorted((one.kind, one.key) for one in found.findings)


def _fill(folder: Path, *names: str, each: int = 2) -> None:
    for n, name in enumerate(names):
        for i in range(each):
            save(folder / name / f"{i}.png", picture(10_000 + 100 * n + i))


def _nothing(_: Path) -> None:
    pass


def _flat(place: Path) -> None:
    save(place / "a.png", picture(1))
    save(place / "b.png", picture(2))


def _one_class(place: Path) -> None:
    _fill(place, "cat")


def _empty_class(place: Path) -> None:
    _fill(place, "cat", "dog")
    (place / "fish").mkdir()


def _two_for_val(place: Path) -> None:
    for split in ("train", "val", "valid"):
        _fill(place / split, "cat", "dog", each=0)
    _fill(place, "train/cat", "train/dog", "val/cat", "val/dog", "valid/cat", "valid/dog")


def _never_learned(place: Path) -> None:
    _fill(place, "train/cat", "train/dog", "test/cat", "test/dog", "test/fish")


def _no_train(place: Path) -> None:
    _fill(place, "test/cat", "val/cat")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (_nothing, [("refused", ".")]),
        (_flat, [("refused", "."), ("stray", "a.png"), ("stray", "b.png")]),
        (_one_class, [("refused", ".")]),
        (_empty_class, [("empty-class", "fish"), ("refused", ".")]),
        (_two_for_val, [("refused", ".")]),
        (_never_learned, [("class-missing", "test/fish"), ("refused", ".")]),
        (
            _no_train,
            [("nested", "test/cat"), ("nested", "val/cat"), ("split-as-class", "test"), ("split-as-class", "val")],
        ),
    ],
)
def test_a_layout(build: Callable[[Path], None], expected: list[tuple[str, str]], tmp_path: Path) -> None:
    build(tmp_path)
    assert _kinds(check(str(tmp_path))) == expected


def test_without_a_test_split_copies_in_a_class_are_left_out(tmp_path: Path) -> None:
    """Holding a test out of them could put one on either side."""
    _fill(tmp_path, "cat", "dog")
    save(tmp_path / "cat" / "again.bmp", picture(10_000))
    found = check(str(tmp_path))
    assert _kinds(found) == [("duplicate", "cat/again.bmp")]
    assert found.leave_out == ["cat/again.bmp"]


def test_a_class_that_is_a_link(tmp_path: Path) -> None:
    """Training follows it; so does the check, within the folder."""
    data, other = tmp_path / "data", tmp_path / "other"
    _fill(data, "cat", "dog")
    _fill(other, "fish")
    (data / "kitty").symlink_to("cat")
    (data / "fish").symlink_to(other / "fish")
    (data / "round").symlink_to("..")
    found = check(str(data))
    assert found.pictures == 6
    assert [one for one in _kinds(found) if "link" in one[0]] == [("link-outside", "fish"), ("link-outside", "round")]
    assert sum(kind == "label-conflict" for kind, _ in _kinds(found)) == 2


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
def test_a_file_that_may_not_be_read(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(tmp_path, "cat", "dog")
    opened = Path.open

    def refuse(path: Path, *args: object, **kwargs: object) -> object:
        if path.name == "1.png" and path.parent.name == "cat":
            raise OSError(code, os.strerror(code), str(path))
        return opened(path, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    found = check(str(tmp_path))
    assert ("unreadable", "cat/1.png") in _kinds(found)
    assert found.leave_out == ["cat/1.png"]


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(tmp_path, "cat", "dog", "fish")
    scan = os.scandir

    def refuse(path: str | Path) -> object:
        if str(path).endswith("fish"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert _kinds(check(str(tmp_path))) == [("empty-class", "fish"), ("refused", "."), ("unreadable", "fish")]


def test_a_list(tmp_path: Path) -> None:
    """Its files are looked at as those of a folder are."""
    _fill(tmp_path, "a", "b", each=3)
    (tmp_path / "a" / "2.png").write_bytes(b"")
    save(tmp_path / "b" / "2.png", picture(10_000))
    save(tmp_path / "far.png", picture(3))
    (tmp_path / "in").mkdir()
    rows = [f"{name}/{i}.png,{name},{'test' if i == 1 else 'train'}" for name in "ab" for i in range(3)]
    (tmp_path / "list.csv").write_text("\n".join(["path,label,split", *rows]))
    found = check(str(tmp_path / "list.csv"))
    assert _kinds(found) == [
        ("empty", "a/2.png"),
        ("label-conflict", "b/2.png"),
        ("one-image", "train/a"),
    ]
    assert found.files == 6
    assert found.leave_out == ["a/2.png"]


def test_a_list_whose_files_are_links_out(tmp_path: Path) -> None:
    _fill(tmp_path / "in", "a", "b")
    save(tmp_path / "far.png", picture(3))
    (tmp_path / "in" / "a" / "2.png").symlink_to(tmp_path / "far.png")
    rows = [f"{name}/{i}.png,{name}" for name in "ab" for i in range(3 if name == "a" else 2)]
    (tmp_path / "in" / "list.csv").write_text("\n".join(["path,label", *rows]))
    assert _kinds(check(str(tmp_path / "in" / "list.csv"))) == [("link-outside", "a/2.png")]


def test_the_digits_are_sound() -> None:
    found = check("digits")
    assert list(found.findings) == []
    assert found.pictures == 1797
    assert found.splits == {"train": 1437, "test": 360}


def test_data_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays with a copy in the test, a blank one, and one that cannot be read."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (12, 12), dtype=np.uint8) for _ in range(8)]
    images[2] = images[6]
    images[3] = np.zeros((12, 12), np.uint8)

    def read(i: int) -> np.ndarray:
        if i == 1:
            raise UserError("made/1 is gone")
        return images[i]

    keys = tuple(f"made/{i}" for i in range(8))
    whole = Samples(keys, (0, 0, 0, 1, 1, 1, 0, 1), read)
    source = Source("made", ("a", "b"), {"train": whole.at(range(6)), "test": whole.at([6, 7])})
    monkeypatch.setattr(digits_of, "digits", lambda: source)
    found = check("digits")
    assert _kinds(found) == [
        *(("broken", "made/1"), ("leak", "made/2")),
        *(("uniform", "made/3"),),
    ]
    assert found.leave_out == ["made/1", "made/2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope",), "no data 'nope'"),
        (("cifar10",), "cifar10 was looked for"),
    ],
)
def test_what_is_no_data(words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VITLAB_DATA", raising=False)
    with pytest.raises(UserError, match=said):
        check(*words)


def test_a_stack_of_channels_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from vitlab.data.checks.sight import see

    stack = np.random.default_rng(0).integers(0, 256, (40, 40, 12), dtype=np.uint8)
    assert see(stack).digest == see(np.ascontiguousarray(stack[..., :3])).digest
    grey = np.ascontiguousarray(stack[..., 0])
    assert see(grey).digest == see(Image.fromarray(grey).convert("RGB")).digest
