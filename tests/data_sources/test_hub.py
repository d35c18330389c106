"""Data sets of the hub as they lie in its cache, and folders laid out as they are; the hub itself is never asked."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import vitlab
from tests.data_sources.packed import NAMES, pixels, png, write
from vitlab.data.sources import check_source, open_source
from vitlab.errors import UserError

datasets = pytest.importorskip("datasets", reason="pip install 'vitlab[hub]'")


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """Caches of the test's own, and no network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "made")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "made" / "downloads")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)


def _same(samples, seeds):
    for i, seed in enumerate(seeds):
        np.testing.assert_array_equal(np.asarray(samples.read(i)), pixels(seed))


def _cached(tmp_path, name, config="default"):
    """A data set in the cache, as if it had been fetched under that name."""
    write(tmp_path / "source" / "data" / "train-0.parquet", 9)
    write(tmp_path / "source" / "data" / "validation-0.parquet", 3, 9)
    write(tmp_path / "source" / "data" / "test-0.parquet", 3, 12)
    datasets.load_dataset(str(tmp_path / "source"))
    (made,) = (tmp_path / "made").glob("source/*/*/*/dataset_info.json")
    place = tmp_path / "made" / name.replace("/", "___") / config / "0.0.0" / ("a" * 40)
    place.parent.mkdir(parents=True)
    made.parent.rename(place)
    for file in place.glob("source-*"):
        file.rename(place / file.name.replace("source-", f"{name.rpartition('/')[2]}-"))
    told = place / "dataset_info.json"
    told.write_text(told.read_text().replace('"config_name": "default"', f'"config_name": "{config}"'))
    shutil.rmtree(tmp_path / "source")


def test_what_is_in_the_cache_needs_no_network(tmp_path):
    _cached(tmp_path, "somebody/pets")
    check_source("hf:somebody/pets")
    source = open_source("hf:somebody/pets")
    assert (source.name, source.classes, source.said) == ("pets", tuple(NAMES), ())
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 9, "val": 3, "test": 3}
    assert source.splits["train"].keys[4] == "train/000004"
    assert source.splits["train"].labels == (0, 1, 2) * 3
    _same(source.splits["train"], range(9))
    _same(source.splits["test"], range(12, 15))


def test_a_configuration(tmp_path):
    _cached(tmp_path, "somebody/pets", "small")
    assert len(open_source("hf:somebody/pets:small").splits["train"]) == 9
    with pytest.raises(UserError, match=r"^hf:somebody/pets:large cannot be read by datasets .*config 'large'"):
        open_source("hf:somebody/pets:large")


@pytest.fixture
def pets(tmp_path):
    """Class folders, as `imagefolder` of `datasets` takes them: pictures stay in their files."""
    for first, split in ((0, "train"), (60, "test")):
        for i in range(first, first + 60):
            path = tmp_path / "pets" / split / ("dog", "cat")[i % 2] / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(i))
    return tmp_path / "pets"


@pytest.mark.parametrize("named", ["hf:pets", "hf:./pets", "hf:{}"])
def test_a_folder_that_is_here(pets, named):
    source = open_source(named.format(pets))
    assert (source.name, source.classes) == ("pets", ("cat", "dog"))
    assert source.said == ("read from the folder pets that is here, not from the hub",)
    train = source.splits["train"]
    assert len(train) == 60
    wanted = sorted(pets.glob("train/*/*.png"))
    assert [train.content(i)[1] for i in range(60)] == [path.read_bytes() for path in wanted]
    assert [source.classes[label] for label in train.labels] == [path.parent.name for path in wanted]


def test_it_is_checked_and_trained_on(pets, tmp_path):
    shutil.copy(pets / "train" / "dog" / "0.png", pets / "test" / "dog" / "again.png")
    (pets / "train" / "cat" / "1.png").write_bytes(png(1)[:60])
    found = vitlab.check("hf:./pets")
    assert {one.kind for one in found.findings} == {"tiny", "truncated", "leak", "to-know"}
    run = vitlab.train(
        "hf:./pets", model="vit_few_patch2_8", change=("depth=1", "width=12"), epochs=1, threads=1,
        precision="float32", quiet=True, out=tmp_path / "run",
    )  # fmt: skip
    assert run.evaluation.images == 61


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("hf:", "is no name of a data set; it wants hf:NAME or hf:NAME:CONFIG, as hf:uoft-cs/cifar10"),
        ("hf:../up", "is no name of a data set"),
        ("hf:/etc/nothing", "is no name of a data set"),
        ("hf:a/b/c", "is no name of a data set"),
        ("hf:https://somewhere/x", "is no name of a data set"),
    ],
)
def test_names_that_are_none(data, said):
    with pytest.raises(UserError, match=said):
        check_source(data)


def test_what_is_not_in_the_cache_offline():
    with pytest.raises(UserError, match=r"^hf:nobody/nothing is not in the cache, and HF_HUB_OFFLINE keeps from fetch"):
        open_source("hf:nobody/nothing")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (datasets.exceptions.DatasetNotFoundError("no"), "hf:a/b is not on the Hugging Face hub, or is private; mind"),
        (ConnectionError("Couldn't reach\nit"), r"the hub cannot be reached \(Couldn't reach it\)$"),
        (ValueError("Config name is missing.\nPick one"), r"by datasets \(Config name is missing. Pick one\)$"),
        (OSError(28, "No space left on device"), "cannot be read by datasets .*No space left"),
    ],
)  # fmt: skip
def test_what_the_hub_says(monkeypatch, error, said):
    def load(*_):
        raise error

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(UserError, match=said) as refusal:
        open_source("hf:a/b")
    assert str(refusal.value).isprintable()


def test_no_script_is_run(tmp_path):
    (tmp_path / "trap").mkdir()
    (tmp_path / "trap" / "trap.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit\n")
    with pytest.raises(UserError, match="wants to run a script of its own, which is never done; take a copy in Parqu"):
        open_source("hf:./trap")
    assert not (tmp_path / "ran").exists()


def test_a_path_in_a_table_leads_nowhere_else(pets, tmp_path):
    """A table may name any file of the machine; what lies outside the folder is not opened."""
    import pyarrow.parquet as pq

    from tests.data_sources.packed import features, pictures, table

    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    cells = [{"bytes": None, "path": str(pets / ".." / "secret.png")}, *pictures(3)]
    shutil.rmtree(pets / "train")
    shutil.rmtree(pets / "test")
    pq.write_table(table(cells, [0, 1, 2, 0], features()), pets / "train.parquet")
    train = open_source("hf:./pets").splits["train"]
    with pytest.raises(UserError, match="train/000000 holds no picture but the path of one"):
        train.read(0)
    _same(train.at([1, 2, 3]), range(3))


def test_without_the_library(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"is read by datasets, which is missing; pip install 'vitlab\[hub\]'$"):
        check_source("hf:somebody/pets")


def test_the_command_says_it_in_a_sentence(tmp_path):
    """Offline by the environment, as a person sets it."""
    done = subprocess.run(
        [sys.executable, "-c", "from vitlab.cli import main; main(['train', 'hf:nobody/nothing'])"],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(
        "hf:nobody/nothing is not in the cache, and HF_HUB_OFFLINE keeps from fetching it; unset that"
    )
    assert "Traceback" not in done.stderr
