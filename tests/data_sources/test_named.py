"""Data sets by name: where files are looked for, what is said when they are not there, and fetching when asked."""

import gzip
import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.data_sources import made, server
from tests.data_sources.made import CIFAR10, MNIST, idx_arrays, write_cifar, write_idx, write_tarball
from vitlab.data.sources import NAMED, check_source, named, open_source
from vitlab.data.sources.published import CIFAR_SETS, IDX_SETS
from vitlab.errors import UserError


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    """CIFAR of four images a file, and no data but a test's own."""
    monkeypatch.setitem(CIFAR_SETS, "cifar10", CIFAR10)
    monkeypatch.delenv("VITLAB_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_names():
    assert NAMED == ("digits", *named.NAMES) == ("digits", "mnist", "fashion-mnist", "cifar10", "cifar100")


@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("folder", ["mnist", "MNIST/raw", "."])
def test_mnist_wherever_people_have_it(tmp_path, folder, end, dotted):
    arrays = idx_arrays()
    write_idx(tmp_path / folder, arrays, end, dotted)
    check_source("mnist", tmp_path)
    assert open_source("mnist", tmp_path).splits["test"].labels == tuple(arrays["t10k-labels-idx1-ubyte"].tolist())


def test_the_files_come_from_one_folder(tmp_path):
    """A folder that lacks one is passed over: its images would meet the labels of another copy."""
    paths = write_idx(tmp_path / "mnist", idx_arrays(count=3))
    write_idx(tmp_path, idx_arrays(count=5))
    assert len(open_source("mnist", tmp_path).splits["train"]) == 3
    paths["t10k-labels-idx1-ubyte"].unlink()
    assert len(open_source("mnist", tmp_path).splits["train"]) == 5


@pytest.mark.parametrize("root", [".", "cifar-10-batches-bin"])
def test_cifar_unpacked(tmp_path, root):
    write_cifar(CIFAR10, tmp_path)
    assert len(open_source("cifar10", root).splits["train"]) == 20


def test_a_folder_that_is_not_whole_gives_way_to_the_tarball(tmp_path):
    folder = write_cifar(CIFAR10, tmp_path)
    (folder / "data_batch_2.bin").unlink()
    with pytest.raises(
        UserError, match=r"looked for in cifar-10-batches-bin \(it has no data_batch_2.bin\) and cifar-10"
    ):
        check_source("cifar10", ".")
    write_tarball(CIFAR10, tmp_path)
    assert len(open_source("cifar10", ".").splits["train"]) == 20


def test_the_root_by_default(tmp_path, monkeypatch):
    write_cifar(CIFAR10, tmp_path / "data")
    assert len(open_source("cifar10").splits["test"]) == 4
    monkeypatch.setenv("VITLAB_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(
        UserError, match=r"looked for in .*elsewhere/cifar-10-batches-bin and .*: not found; add --fetch"
    ):
        check_source("cifar10")
    write_cifar(CIFAR10, tmp_path / "elsewhere")
    assert len(open_source("cifar10").splits["test"]) == 4


def test_absent_files_are_named_with_the_way_out(tmp_path):
    with pytest.raises(UserError) as refusal:
        check_source("mnist")
    assert str(refusal.value) == (
        "mnist was looked for in data/mnist, data/MNIST/raw, data: train-images-idx3-ubyte[.gz] and 3 more not found; "
        "add --fetch to get 11.6 MB from ossci-datasets.s3.amazonaws.com, or say with --root (or $VITLAB_DATA) where "
        "the files are"
    )
    write_idx(tmp_path / "data" / "mnist", {k: v for k, v in idx_arrays().items() if k != "t10k-labels-idx1-ubyte"})
    with pytest.raises(UserError, match=r": t10k-labels-idx1-ubyte\[.gz\] not found; add --fetch to get 0.0 MB"):
        check_source("mnist")


@pytest.mark.parametrize("pickled", ["cifar-10-batches-py", "cifar-10-python.tar.gz"])
def test_the_pickled_version_is_refused(tmp_path, pickled):
    (tmp_path / pickled).mkdir()
    with pytest.raises(UserError) as refusal:
        check_source("cifar10", tmp_path)
    assert str(refusal.value) == (
        f"{tmp_path / pickled} is the pickled version of cifar10, which can run code when it is read; take the binary "
        "version (cifar-10-binary.tar.gz): add --fetch to get 170.1 MB from www.cs.toronto.edu, or say with --root (or "
        "$VITLAB_DATA) where the files are"
    )
    write_cifar(CIFAR10, tmp_path)
    check_source("cifar10", tmp_path)  # beside the binary one it does no harm


@pytest.mark.parametrize("data", ["folder", "list.csv"])
def test_a_path_takes_neither_root_nor_fetch(tmp_path, data):
    (tmp_path / "folder" / "a").mkdir(parents=True)
    (tmp_path / "folder" / "b").mkdir()
    (tmp_path / "list.csv").write_text("path,label\n")
    check_source(data)
    for how in ({"root": "."}, {"fetch": True}):
        with pytest.raises(UserError, match=f"--root and --fetch are for data sets known by name .*; {data} is a path"):
            check_source(data, **how)


def test_digits_need_no_files():
    assert len(open_source("digits", "nowhere", fetch=True).splits["test"]) == 360


def _offered(monkeypatch, name, addresses):
    """A small MNIST, on offer at these addresses under its published names."""
    held = {stem: gzip.compress(made.idx_bytes(array), mtime=0) for stem, array in idx_arrays().items()}
    downloads = tuple(
        replace(
            one,
            size=len(held[one.name.removesuffix(".gz")]),
            sums={"sha256": hashlib.sha256(held[one.name.removesuffix(".gz")]).hexdigest()},
            addresses=tuple(address.replace("file.bin", one.name) for address in addresses),
        )
        for one in MNIST.downloads
    )
    monkeypatch.setitem(IDX_SETS, name, replace(MNIST, downloads=downloads))
    return lambda request: server.good(request, file=held[Path(request.path).name.removesuffix(".gz")])


def test_fetched_only_when_asked_and_once(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def answer(request):
        offer(request)

    with server.serving(answer) as (address, asked):
        offer = _offered(monkeypatch, "mnist", [address])
        with pytest.raises(UserError, match="add --fetch"):
            open_source("mnist", "new")
        check_source("mnist", "new", fetch=True)
        assert asked == []  # looking fetches nothing
        for _ in range(2):
            source = open_source("mnist", "new", fetch=True)
        assert source.splits["train"].labels == tuple(idx_arrays()["train-labels-idx1-ubyte"].tolist())
        assert len(asked) == 4
        (tmp_path / "new" / "mnist" / "t10k-images-idx3-ubyte.gz").unlink()
        open_source("mnist", "new", fetch=True)
        assert len(asked) == 5  # what is there stays
    assert open_source("mnist", "new").splits.keys() == {"train", "test"}


def test_a_folder_of_the_same_name_is_pointed_at(tmp_path):
    """The name goes first, so that it means the same in every working directory."""
    (tmp_path / "mnist").mkdir()
    with pytest.raises(UserError, match=r"where the files are; the folder here is ./mnist$"):
        check_source("mnist")


def test_a_root_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write file/x: file is a file; choose another folder"):
        check_source("cifar100", "file/x", fetch=True)


def test_looking_imports_nothing_heavy(tmp_path):
    (tmp_path / "list.csv").write_text("path,label\n")
    write_idx(tmp_path / "data" / "mnist", idx_arrays())
    code = (
        "import sys; from vitlab.data.sources import check_source\n"
        "for data in ('mnist', 'digits', 'list.csv'): check_source(data)\n"
        "print(sorted({'numpy', 'torch', 'PIL', 'rich', 'pyarrow', 'urllib.request'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_published_file_is_checked_and_offered_by_two_hosts():
    downloads = [*(one for which in IDX_SETS.values() for one in which.downloads)]
    downloads += [which.archive for which in CIFAR_SETS.values()]
    assert len(downloads) == 10
    for one in downloads:
        assert [(kind, len(bytes.fromhex(digest))) for kind, digest in one.sums.items()] == [
            ("sha256", 32),
            ("md5", 16),
        ]
        assert len({address.split("/")[2] for address in one.addresses}) == 2
        assert all(address.endswith(one.name) for address in one.addresses)
        assert one.addresses[0].startswith("https://")
