"""Pictures inside Parquet and Arrow, as `datasets` writes them: order of classes, splits, what is refused."""

import json
import re
import shutil

import numpy as np
import pytest

import vitlab
from tests.data_sources.packed import NAMES, features, pictures, pixels, png, table, write
from vitlab.data.quarantine import without
from vitlab.data.sources import check_source, open_source, parquet
from vitlab.errors import UserError

pytest.importorskip("pyarrow", reason="Parquet wants pyarrow: pip install 'vitlab[hub]'")


def _same(samples, seeds):
    for i, seed in enumerate(seeds):
        np.testing.assert_array_equal(np.asarray(samples.read(i)), pixels(seed))


def test_one_file(tmp_path):
    source = open_source(str(write(tmp_path / "pets.parquet", 10)))
    assert (source.name, source.classes, list(source.splits)) == ("pets", tuple(NAMES), ["train"])
    train = source.splits["train"]
    assert (train.keys[:2], train.labels) == (("train/000000", "train/000001"), tuple(i % 3 for i in range(10)))
    assert train.parts == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2)
    assert train.content(9) == ("train/000009.png", png(9))
    _same(train, range(10))
    _same(train.at([7, 0, 5]), [7, 0, 5])
    assert train.at([7, 0]).content(0)[0] == "train/000007.png"


@pytest.mark.parametrize(
    "names",
    [
        ("data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"),
        ("default/train/0000.parquet", "default/train/0001.parquet", "default/test/0000.parquet"),
        ("pets-train-a.parquet", "pets-train-b.parquet", "pets-TEST.parquet"),
    ],
)
def test_a_folder_as_the_hub_has_it(tmp_path, names):
    for first, name in zip((0, 6, 12), names, strict=True):
        write(tmp_path / "pets" / name, 6, first)
    (tmp_path / "pets" / "README.md").write_text("about")
    source = open_source(str(tmp_path / "pets"))
    assert (source.name, source.classes) == ("pets", tuple(NAMES))
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 12, "test": 6}
    _same(source.splits["train"], range(12))
    _same(source.splits["test"], range(12, 18))


def test_what_datasets_writes_itself(tmp_path):
    """Parquet and a saved set, of one split, of several, in several files: the same data in all of them."""
    datasets = pytest.importorskip("datasets", reason="pip install 'vitlab[hub]'")
    from PIL import Image

    kinds = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    images = [Image.fromarray(pixels(i)) for i in range(9)]
    held = datasets.Dataset.from_dict({"img": images, "label": [i % 3 for i in range(9)]}, features=kinds)
    held.to_parquet(tmp_path / "a.parquet")
    held.save_to_disk(tmp_path / "one", num_shards=2)
    halves = {"train": held.select(range(6)), "validation": held.select(range(6, 9)), "extra": held.select([0])}
    datasets.DatasetDict(halves).save_to_disk(tmp_path / "several")
    for name in ("a.parquet", "one"):
        source = open_source(str(tmp_path / name))
        assert source.classes == tuple(NAMES)
        assert source.splits["train"].labels == (0, 1, 2) * 3
        _same(source.splits["train"], range(9))
    source = open_source(str(tmp_path / "several"))
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 6, "val": 3}
    assert source.said == ("its split 'extra' is passed over",)
    _same(source.splits["val"], range(6, 9))


def test_labels_without_a_description(tmp_path):
    """Words and numbers are sorted as those of a list are; bytes alone are a picture too."""
    words = ["b", "a", "b", "a"]
    source = open_source(str(write(tmp_path / "a.parquet", 4, labels=words, metadata={})))
    assert (source.classes, source.splits["train"].labels) == (("a", "b"), (1, 0, 1, 0))
    source = open_source(str(write(tmp_path / "a.parquet", 4, labels=[10, 9, 10, 9], metadata={}, label="target")))
    assert (source.classes, source.splits["train"].labels) == (("9", "10"), (1, 0, 1, 0))
    import pyarrow.parquet as pq

    pq.write_table(table([png(i) for i in range(4)], words), tmp_path / "bytes.parquet")
    _same(open_source(str(tmp_path / "bytes.parquet")).splits["train"], range(4))


def test_a_test_without_labels_is_passed_over_and_said(tmp_path):
    write(tmp_path / "train.parquet", 9)
    write(tmp_path / "test.parquet", 3, labels=[-1, -1, -1])
    source = open_source(str(tmp_path))
    assert list(source.splits) == ["train"]
    assert source.said == ("test has no labels and is passed over",)


def test_classes_without_images_keep_their_numbers(tmp_path):
    source = open_source(str(write(tmp_path / "a.parquet", 4, labels=[0, 2, 0, 2])))
    assert (source.classes, source.splits["train"].labels) == (tuple(NAMES), (0, 2, 0, 2))
    assert source.said == ("of its 3 classes these have no image: cat",)
    assert len(without(source, {"train/000000"}).splits["train"]) == 3


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"labels": [0, 1, 3, 0]},
            "train/000002 in train of a has the label '3'; there are 3 classes, counted f",
        ),
        ({"labels": [0, 1, None, 0]}, r"train/000002 in train of a has no label; mend or leave out what has no class"),
        ({"labels": [1, 1, 1, 1]}, "a has only the label 'cat'; a classifier wants at least two"),
        ({"labels": [0.5] * 4}, "has double in the column label, which wants words or whole numbers"),
        ({"labels": ["\x1b"] * 4, "metadata": {}}, r"a has the label '\\x1b'; it wants a word or a whole number"),
        ({"metadata": {}, "label": "colour"}, "has no column of labels; it wants a ClassLabel, or a column called lab"),
        ({"metadata": features(["a", "a"])}, "calls two classes 'a'; each wants a name of its own"),
        ({"metadata": features(["a", "b\n"])}, r"calls a class 'b\\n'; a name wants letters"),
        ({"metadata": features(None)}, "does not name its classes; write it with a ClassLabel that has names"),
        ({"metadata": {"huggingface": "{"}}, "has a description of its columns that cannot be read; write it again"),
        ({"metadata": {"huggingface": "[" * 100_000}}, "has a description of its columns that cannot be read"),
        ({"metadata": {"huggingface": '{"info": 3}'}}, "has a description of its columns that cannot be read"),
    ],
)
def test_what_cannot_be_learned_from(tmp_path, how, said):
    path = write(tmp_path / "a.parquet", 4, **how)
    with pytest.raises(UserError, match=said) as refusal:
        open_source(str(path))
    assert "\n" not in str(refusal.value)


def test_files_that_are_not_one_data_set(tmp_path):
    write(tmp_path / "train-0.parquet", 4)
    write(tmp_path / "train-1.parquet", 4, metadata=features(["x", "y", "z"]))
    with pytest.raises(UserError, match=r"has other columns or classes than .*; they are not one data set"):
        open_source(str(tmp_path))
    (tmp_path / "train-1.parquet").rename(tmp_path / "other.parquet")
    with pytest.raises(UserError, match=r"other.parquet says nothing of train, val or test in its name, as others in"):
        open_source(str(tmp_path))


def test_no_path_is_followed(tmp_path):
    """A cell may name any file of the machine; it is not opened."""
    import pyarrow.parquet as pq

    (tmp_path / "secret.png").write_bytes(png(1))
    cells = [{"bytes": None, "path": str(tmp_path / "secret.png")}, *pictures(3)]
    pq.write_table(table(cells, [0, 1, 0, 1], features()), tmp_path / "a.parquet")
    train = open_source(str(tmp_path / "a.parquet")).splits["train"]
    with pytest.raises(UserError, match="train/000000 holds no picture but the path of one; write the pictures too"):
        train.read(0)


def test_a_group_is_read_once_while_it_is_wanted(tmp_path, monkeypatch):
    train = open_source(str(write(tmp_path / "a.parquet", 40))).splits["train"]
    read = []
    real = parquet._Reader._read
    monkeypatch.setattr(parquet._Reader, "_read", lambda self, group: read.append(group.number) or real(self, group))
    _same(train, range(40))
    assert read == list(range(10))
    monkeypatch.setattr(parquet, "KEPT", 1)
    train = open_source(str(tmp_path / "a.parquet")).splits["train"]
    read.clear()
    _same(train.at([0, 3, 39, 1, 38]), [0, 3, 39, 1, 38])
    assert read == [0, 9, 0, 9]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("dataset_dict.json", b'{"splits": ["../../etc"]}', "does not list its splits; save the data set again"),
        ("dataset_dict.json", b'{"splits": 3}', "does not list its splits"),
        ("dataset_dict.json", b"[", "is not what `datasets` writes; save the data set again"),
        ("train/state.json", b'{"_data_files": [{"filename": "/etc/passwd"}]}', "does not list its files"),
        ("train/state.json", b'{"_data_files": [{"filename": ".."}]}', "does not list its files"),
        ("train/state.json", b'{"_data_files": [{"filename": "gone.arrow"}]}', "cannot read .*gone.arrow"),
        ("train/state.json", None, "cannot read .*state.json"),
        ("train/data-00000-of-00001.arrow", b"ARROW1\0\0" + bytes(64), "is no Arrow file that can be read"),
        ("train/data-00000-of-00001.arrow", b"\xff" * 64, "is no Arrow file that can be read"),
    ],
)
def test_a_saved_set_that_is_none(tmp_path, name, content, said):
    datasets = pytest.importorskip("datasets", reason="pip install 'vitlab[hub]'")
    kinds = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    held = datasets.Dataset.from_dict({"image": pictures(6), "label": [0, 1, 2] * 2}, features=kinds)
    datasets.DatasetDict({"train": held}).save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / name).unlink()
    if content is not None:
        (tmp_path / "saved" / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        open_source(str(tmp_path / "saved"))


def test_without_pyarrow(tmp_path, monkeypatch):
    import importlib.util

    write(tmp_path / "a" / "train.parquet", 4)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "state.json").write_text("{}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in "ab":
        with pytest.raises(UserError, match=r"for which pyarrow is missing; pip install 'vitlab\[hub\]'$"):
            check_source(str(tmp_path / name))


def test_check_looks_inside(tmp_path):
    """Bytes in a table are files to it: cut ones, copies, another format than the name says."""
    import pyarrow.parquet as pq

    cells = pictures(12)
    cells[3]["bytes"] = cells[3]["bytes"][:60]
    cells[4]["bytes"] = b""
    cells[5] = cells[2]
    cells[6]["path"] = "photo.jpg"
    cells[7]["bytes"] = None
    pq.write_table(table(cells, [0, 1, 2] * 4, features()), tmp_path / "a.parquet")
    found = vitlab.check(str(tmp_path / "a.parquet"), quarantine=tmp_path / "bad.txt")
    kinds = {(one.kind, one.key) for one in found.findings if one.kind != "tiny"}
    assert kinds == {
        *{("truncated", "train/000003"), ("empty", "train/000004"), ("duplicate", "train/000005")},
        *{("wrong-suffix", "train/000006"), ("broken", "train/000007")},
    }
    assert re.findall("^train.*", (tmp_path / "bad.txt").read_text(), re.M) == found.leave_out
    assert json.loads(found.to_json())["pictures"] == 9


def test_it_trains(tmp_path):
    for first, split in ((0, "train"), (60, "test")):
        write(tmp_path / "pets" / f"{split}.parquet", 60, first, group=7)
    run = vitlab.train(
        str(tmp_path / "pets"), model="vit_few_patch2_8", change=("depth=1", "width=12"), epochs=1, threads=1,
        precision="float32", quiet=True, out=tmp_path / "run",
    )  # fmt: skip
    assert run.bundle.classes == tuple(NAMES)
    assert run.evaluation.images == 60
    shutil.rmtree(tmp_path / "pets")
