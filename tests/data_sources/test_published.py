"""The real data sets against what is published of them: bytes, counts, order of classes, first labels, channel means.

They are looked for under $VITLAB_DATA; where they are not, the tests fail and say how to get them.
"""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from vitlab.data.sources import open_source
from vitlab.data.sources.published import IDX_SETS

pytestmark = pytest.mark.slow

DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
# Name, classes, images to train and test, first labels of both, mean and deviation of each channel of the first.
PUBLISHED = [
    ("mnist", DIGITS, 60_000, 10_000, (5, 0, 4, 1, 9, 2, 1, 3), (7, 2, 1, 0, 4, 1, 4, 9), [0.1307], [0.3081]),
    ("fashion-mnist", CLOTHES, 60_000, 10_000, (9, 0, 0, 3, 0, 2, 7, 2), (9, 2, 1, 1, 6, 1, 4, 6), [0.2860], [0.3530]),
    (
        "cifar10", THINGS, 50_000, 10_000, (6, 9, 9, 4, 1, 1, 2, 7), (3, 8, 8, 0, 6, 6, 1, 6),
        [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616],
    ),
]  # fmt: skip

# SHA-256 of the files as they are unpacked: CIFAR-10's as torch-rb pins them, MNIST's as many repositories record them.
UNPACKED = {
    "cifar-10-batches-bin/data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "cifar-10-batches-bin/data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "cifar-10-batches-bin/data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "cifar-10-batches-bin/data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "cifar-10-batches-bin/data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "cifar-10-batches-bin/test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    "mnist/train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "mnist/train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "mnist/t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "mnist/t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


@pytest.fixture(scope="module")
def root():
    where = os.environ.get("VITLAB_DATA")
    if not where or not (Path(where) / "cifar-10-batches-bin").is_dir() or not (Path(where) / "fashion-mnist").is_dir():
        pytest.fail(
            f"the real data sets are not in VITLAB_DATA ({where or 'not set'}); "
            "run ../shared/tools/get-datasets DIR, then VITLAB_DATA=DIR make test-all",
            pytrace=False,
        )
    return Path(where)


@pytest.mark.parametrize(("name", "classes", "train", "test", "first", "first_test", "mean", "std"), PUBLISHED)
def test_the_published_figures(root, name, classes, train, test, first, first_test, mean, std):
    source = open_source(name, root)
    assert source.classes == classes
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": train, "test": test}
    for split, labels in (("train", first), ("test", first_test)):
        assert source.splits[split].labels[: len(labels)] == labels
        assert source.splits[split].keys[12] == f"{name}/{split}/00012"
    pixels = np.stack([source.splits["train"].read(i) for i in range(train)]).reshape(-1, len(mean))
    assert [round(channel.mean() / 255, 4) for channel in pixels.T] == mean
    assert [round(channel.std() / 255, 4) for channel in pixels.T] == std


@pytest.mark.parametrize(("name", "each"), [("cifar10", (5_000, 1_000)), ("fashion-mnist", (6_000, 1_000))])
def test_as_many_of_each_class(root, name, each):
    splits = open_source(name, root).splits
    for split, count in zip(("train", "test"), each, strict=True):
        assert np.bincount(splits[split].labels).tolist() == [count] * 10


@pytest.mark.parametrize("path", UNPACKED)
def test_the_published_bytes(root, path):
    held = (root / path).read_bytes()
    held = gzip.decompress(held) if path.endswith(".gz") else held
    assert hashlib.sha256(held).hexdigest() == UNPACKED[path]


@pytest.mark.parametrize("name", IDX_SETS)
def test_cousins_are_told_apart(root, name):
    source = open_source(name, root)
    for split, labels in zip(("train", "test"), IDX_SETS[name].first_labels, strict=True):
        assert source.splits[split].labels[: len(labels)] == labels
