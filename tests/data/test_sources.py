"""The digits are always the same digits; a folder is read the same on any file system."""

import hashlib
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from vitlab.data.listing import files_below
from vitlab.data.origin import Origin
from vitlab.data.sources import open_source
from vitlab.data.sources.source import Source
from vitlab.data.splits import open_splits
from vitlab.errors import UserError


def _paint(path: Path, grey: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (2, 2), grey).save(path)


def _fingerprint(keys: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]


def test_the_digits() -> None:
    source = open_source("digits")
    train, test = source.splits["train"], source.splits["test"]
    assert (len(train), len(test)) == (1437, 360)
    assert source.classes == tuple("0123456789")
    raw = load_digits()
    whole = Counter(raw.target.tolist())
    for label, count in Counter(test.labels).items():
        assert abs(count - 360 * whole[label] / 1797) < 1
    assert Counter(train.labels) + Counter(test.labels) == whole
    assert set(train.keys).isdisjoint(test.keys)
    for samples in (train, test):
        for i in (0, len(samples) - 1):
            place = int(samples.keys[i].removeprefix("digits/"))
            assert samples.labels[i] == raw.target[place]
            assert np.array_equal(samples.read(i), np.round(raw.images[place] * 255 / 16).astype(np.uint8))


def test_the_digits_held_out_are_these_for_good() -> None:
    """Published figures are of this test split: it may never move."""
    test = open_source("digits").splits["test"]
    assert _fingerprint(test.keys) == "bd4b0050346d16e4"
    assert test.labels[:12] == (1, 3, 4, 6, 9, 5, 5, 6, 3, 1, 2, 7)
    val = open_splits(Origin("digits")).splits["val"]
    assert len(val) == 144
    assert _fingerprint(val.keys) == "519f3e09e34a199b"


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """Two classes, nested and oddly named, with what must be ignored lying about."""
    for name in ("b.png", "a b.JPG", "ünï/c.bmp", "deep/er/d.webp"):
        _paint(tmp_path / "pets" / "cat é" / name)
    for name in ("2.png", "10.png"):
        _paint(tmp_path / "pets" / "Dog" / name)
    _paint(tmp_path / "pets" / ".cache" / "x.png")
    _paint(tmp_path / "pets" / "Dog" / ".thumbnails" / "x.png")
    _paint(tmp_path / "pets" / "Dog" / "._2.png")
    (tmp_path / "pets" / "Dog" / "notes.txt").write_text("no image")
    (tmp_path / "pets" / "README.md").write_text("no class")
    (tmp_path / "pets" / "Dog" / "folder.png").mkdir()
    return tmp_path / "pets"


WANTED = (
    ("Dog/10.png", 0),
    ("Dog/2.png", 0),
    ("cat é/a b.JPG", 1),
    ("cat é/b.png", 1),
    ("cat é/deep/er/d.webp", 1),
    ("cat é/ünï/c.bmp", 1),
)


def _listed(source: Source, split: str = "train") -> tuple[tuple[str, int], ...]:
    samples = source.splits[split]
    return tuple(zip(samples.keys, samples.labels, strict=True))


def test_a_folder_without_splits(flat: Path) -> None:
    source = open_source(str(flat))
    assert (source.name, source.classes, set(source.splits)) == ("pets", ("Dog", "cat é"), {"train"})
    assert _listed(source) == WANTED
    assert all(source.splits["train"].read(i).size == (2, 2) for i in range(6))  # type: ignore[union-attr]


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that hands out names in no order."""
    real = os.scandir

    class Shuffled:
        def __init__(self, top: Any) -> None:
            self.entries = list(real(top))
            random.Random(len(self.entries)).shuffle(self.entries)
            self.entries.reverse()

        def __enter__(self) -> Any:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None: ...

        def __iter__(self) -> Any:
            return iter(self.entries)

        def __next__(self) -> Any:
            if not self.entries:
                raise StopIteration
            return self.entries.pop()

        def close(self) -> None: ...

    monkeypatch.setattr(os, "scandir", Shuffled)


def test_the_file_system_has_no_say(flat: Path, shuffled: None) -> None:
    assert _listed(open_source(str(flat))) == WANTED


@pytest.mark.parametrize("folders", ["{label}", "train/{label}", "TRAINING/{label} Valid/{label}"])
def test_nor_in_what_is_held_out(tmp_path: Path, folders: str, request: pytest.FixtureRequest) -> None:
    """Without val or test, or with one of them: the same tenth of each class, wherever names come from."""
    for where in folders.split():
        for label in ("a", "b"):
            for i in range(50):
                _paint(tmp_path / where.format(label=label) / f"{i}.png")
    before = open_splits(Origin(str(tmp_path)))
    request.getfixturevalue("shuffled")
    after = open_splits(Origin(str(tmp_path)))
    assert set(after.splits) == {"train", "val", "test"}
    assert {split: _listed(after, split) for split in after.splits} == {
        split: _listed(before, split) for split in before.splits
    }
    assert Counter(after.splits["test"].labels) == {0: 5, 1: 5}


def test_the_place_of_the_folder_has_no_say(flat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(flat)
    here = open_source(".")
    assert here.name == "pets"
    assert _listed(here) == WANTED


@pytest.mark.parametrize(
    "names", [("train", "val", "test"), ("Training", "validation", "TEST"), ("train", "valid", "test")]
)
def test_a_folder_with_splits(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for split, count in zip(names, (3, 2, 1), strict=True):
        for label in ("b", "a"):
            for i in range(count):
                _paint(tmp_path / split / label / f"{i}.png")
    _paint(tmp_path / "originals" / "x.png")
    source = open_source(str(tmp_path))
    assert source.classes == ("a", "b")
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 6, "val": 4, "test": 2}
    assert _listed(source, "test") == ((f"{names[2]}/a/0.png", 0), (f"{names[2]}/b/0.png", 1))
    assert open_splits(Origin(str(tmp_path))).splits.keys() == {"train", "val", "test"}


def test_splits_that_are_missing_are_held_out(tmp_path: Path) -> None:
    for label in ("a", "b"):
        for i in range(50):
            _paint(tmp_path / label / f"{i}.png")
    source = open_splits(Origin(str(tmp_path)))
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 81, "val": 9, "test": 10}
    keys = [key for samples in source.splits.values() for key in samples.keys]
    assert len(set(keys)) == 100
    assert Counter(source.splits["test"].labels) == {0: 5, 1: 5}
    assert open_splits(Origin(str(tmp_path))).splits["test"].keys == source.splits["test"].keys


def test_a_link_to_a_folder_of_images_is_a_class(tmp_path: Path) -> None:
    for label in ("a", "b"):
        _paint(tmp_path / "elsewhere" / label / "1.png")
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / label).symlink_to(tmp_path / "elsewhere" / label)
    assert _listed(open_source(str(tmp_path / "data"))) == (("a/1.png", 0), ("b/1.png", 1))


def test_a_link_in_a_circle_ends(tmp_path: Path) -> None:
    _paint(tmp_path / "a" / "1.png")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert files_below(tmp_path) == [tmp_path / "a" / "1.png"]


def test_a_folder_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the folder .*gone: No such file or directory"):
        files_below(tmp_path / "gone")
