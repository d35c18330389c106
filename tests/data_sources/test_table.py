"""Lists of images: what they say is read, where they lead out of their folder or to nothing they are refused."""

import importlib.util

import numpy as np
import pytest
from PIL import Image

from tests.data_sources.made import csv_bytes, write_images
from vitlab.data.sources import check_source, open_source
from vitlab.errors import UserError

needs_pyarrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="Parquet wants pyarrow: pip install 'vitlab[hub]'"
)
ROWS = [("b/1.png", "dog"), ("a/2.png", "cat"), ("./b/3.png", " dog "), ("ä 4.png", "cat")]


@pytest.fixture
def folder(tmp_path):
    write_images(tmp_path, ["b/1.png", "a/2.png", "b/3.png", "ä 4.png"])
    return tmp_path


def _write(folder, rows=ROWS, header=("path", "label")):
    (folder / "list.csv").write_bytes(csv_bytes(rows, header))
    return str(folder / "list.csv")


def test_paths_and_labels(folder):
    source = open_source(_write(folder))
    assert (source.name, source.classes, list(source.splits)) == ("list", ("cat", "dog"), ["train"])
    train = source.splits["train"]
    assert train.keys == ("b/1.png", "a/2.png", "b/3.png", "ä 4.png")
    assert train.labels == (1, 0, 1, 0)
    for i, key in enumerate(train.keys):
        np.testing.assert_array_equal(np.asarray(train.read(i)), np.asarray(Image.open(folder / key)))


def test_splits_by_any_of_their_names(folder):
    rows = [(path, label, split) for (path, label), split in zip(ROWS, ["Train", "", "valid", "test"], strict=True)]
    splits = open_source(_write(folder, rows, ("path", "label", "split"))).splits
    assert {split: samples.keys for split, samples in splits.items()} == {
        "train": ("b/1.png", "a/2.png"),
        "val": ("b/3.png",),
        "test": ("ä 4.png",),
    }


@pytest.mark.parametrize(
    ("labels", "classes", "numbers"),
    [
        (["10", "9", "-1", "9"], ("-1", "9", "10"), (2, 1, 0, 1)),
        (["10", "9", "x", "9"], ("10", "9", "x"), (0, 1, 2, 1)),
        (["1", "01", "1", "01"], ("01", "1"), (1, 0, 1, 0)),
        (["9" * 30, "1", "1", "1"], ("1", "9" * 30), (1, 0, 0, 0)),
    ],
)
def test_classes_are_sorted_as_numbers_if_all_are(folder, labels, classes, numbers):
    rows = [(path, label) for (path, _), label in zip(ROWS, labels, strict=True)]
    source = open_source(_write(folder, rows))
    assert (source.classes, source.splits["train"].labels) == (classes, numbers)


def test_as_spreadsheets_write_them(folder):
    """A byte order mark, other line ends, other columns in another order, capitals, blank lines."""
    text = '\ufeffid,LABEL, Path \r\n1,dog,"b/1.png"\r\n\r\n2,"cat",a/2.png\r\n,,\r\n'
    (folder / "list.csv").write_text(text, encoding="utf-8", newline="")
    train = open_source(str(folder / "list.csv")).splits["train"]
    assert (train.keys, train.labels) == (("b/1.png", "a/2.png"), (1, 0))


@pytest.mark.parametrize("path", ["../secret.png", "b/../../secret.png", "b/../b/1.png", "/etc/passwd", ".."])
def test_no_path_leads_out(folder, path):
    with pytest.raises(UserError, match="in row 6, which leads out of its folder; paths are relative to the folder of"):
        open_source(_write(folder, [*ROWS, (path, "cat")]))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([*ROWS, ("no.png", "a")], r"names 'no.png', which is not in .*; mend the list or bring the files"),
        ([*ROWS, ("no.png", "a"), ("nor.png", "a"), ("b", "a")], "names 'no.png' and 2 more, which are not in"),
        ([*ROWS, ("b\\1.png", "a")], "folders are parted by /"),
        ([*ROWS, ("n" * 5000, "a")], r"names 'n{200}', which is not"),
        ([*ROWS, ("\x1b[2J", "a")], r"names '\\x1b\[2J', which is not"),
        ([*ROWS, ("", "a")], "has no path in row 6"),
        ([*ROWS, ("a\0b", "a")], "has no path in row 6"),
        ([*ROWS, ("a/2.png", "cat")], "lists 'a/2.png' twice, in rows 3 and 6; keep one of them"),
        ([*ROWS, ("b/./1.png", "cat")], "lists 'b/1.png' twice, in rows 2 and 6"),
        ([*ROWS, ("a.png", " ")], "has the label '' in row 6; it wants a word or a whole number"),
        ([*ROWS, ("a.png", "a\nb")], r"has the label 'a\\nb' in row 6"),
        ([*ROWS, ("a.png", "a" * 201)], "has the label 'a{60}' in row 6"),
        ([*ROWS, ("a.png",)], "has 1 cells in row 6, where 2 are wanted"),
        ([], "lists no images; it wants one row for each, under path,label"),
        ([("b/1.png", "dog"), ("b/3.png", "dog")], "has only the label 'dog'; a classifier wants at least two"),
    ],
)
def test_rows_that_cannot_be(folder, rows, sentence):
    with pytest.raises(UserError, match=sentence) as refusal:
        open_source(_write(folder, rows))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("splits", "sentence"),
    [
        (["train", "tset", "", ""], "has the split 'tset' in row 3; did you mean 'test'"),
        (["val", "test", "val", "test"], "has no row of the split train; name some, or leave the column away"),
        (["train", "val", "train", "val"], "has no train row with the label 'cat', which could never be learned"),
    ],
)
def test_splits_that_cannot_be(folder, splits, sentence):
    rows = [(*row, split) for row, split in zip(ROWS, splits, strict=True)]
    with pytest.raises(UserError, match=sentence):
        open_source(_write(folder, rows, ("path", "label", "split")))


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (b"", r"has no column path; its first row wants the names path,label\[,split\]"),
        (b"file,label\na,b\n", "has no column path; .*; there are file, label"),
        (b"paths,label\na,b\n", "has no column path; .*; did you mean 'paths'"),
        (b"path;label\na;b\n", "has no column path"),
        (b"path,label,Path\n", "has 2 columns path; keep one"),
        (b"path,label\n\xff\xfe,a\n", "is not UTF-8 text; save it as CSV in UTF-8"),
        (b'path,label\n"a"b,c\n', "is no CSV file that can be read"),
        (b'path,label\n"a,c\n', r"is no CSV file that can be read \(unexpected end of data\)"),
        (b"path,label\n" + b"x" * 200_000, "has a line of more than 65,536 characters; it is no list of images"),
        (b'path,label\n"' + b"x\n" * 100_000, r"is no CSV file that can be read \(field larger than"),
    ],
)
def test_files_that_are_no_lists(tmp_path, held, sentence):
    (tmp_path / "list.csv").write_bytes(held)
    with pytest.raises(UserError, match=sentence):
        open_source(str(tmp_path / "list.csv"))


def test_a_list_is_refused_before_anything_heavy_is_imported(tmp_path):
    (tmp_path / "list.csv").write_text("a,b\n")
    with pytest.raises(UserError, match="no column path"):
        check_source(str(tmp_path / "list.csv"))


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "list.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UserError, match=r"is a Parquet file, for which pyarrow is missing; pip install 'vitlab\[hub\]'"
    ):
        check_source(str(tmp_path / "list.parquet"))


@needs_pyarrow
@pytest.mark.parametrize("labels", [["dog", "cat", "dog", "cat"], [7, 2, 7, 2]])
def test_parquet_says_what_csv_says(folder, labels):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"id": [1, 2, 3, 4], "path": [p for p, _ in ROWS], "label": labels}), folder / "list.parquet"
    )
    source = open_source(str(folder / "list.parquet"))
    assert source.classes == (("cat", "dog") if labels[0] == "dog" else ("2", "7"))
    assert source.splits["train"].keys == open_source(_write(folder)).splits["train"].keys
    assert source.splits["train"].labels == (1, 0, 1, 0)


@needs_pyarrow
@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"image": ["x"], "label": [0]}, "has no column path"),
        ({"path": ["a"], "label": [0.5]}, "has double in the column label, which wants words or whole numbers"),
        ({"path": [b"a"], "label": [0]}, "has binary in the column path, which wants words"),
        ({"path": [None], "label": ["a"]}, "has null in the column path"),
        ({"path": ["a", None], "label": [0, 1]}, "has no path in row 2"),
    ],
)
def test_parquet_with_other_columns(tmp_path, columns, sentence):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), tmp_path / "list.parquet")
    with pytest.raises(UserError, match=sentence):
        open_source(str(tmp_path / "list.parquet"))


@needs_pyarrow
@pytest.mark.parametrize("held", [b"", b"PAR1", b"PAR1" + b"x" * 400 + b"PAR1"])
def test_what_is_no_parquet(tmp_path, held):
    (tmp_path / "list.parquet").write_bytes(held)
    with pytest.raises(UserError, match="is no Parquet file that can be read"):
        open_source(str(tmp_path / "list.parquet"))
