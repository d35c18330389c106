"""CIFAR in its binary version, unpacked or as the tarball: every number is read, cut and hostile copies are refused."""

import gzip
import tarfile

import numpy as np
import pytest

from tests.data_sources.made import CIFAR10, CIFAR100, cifar_files, tar_bytes, write_cifar, write_tarball
from vitlab.data.sources.cifar import cifar
from vitlab.errors import UserError


@pytest.mark.parametrize("write", [write_cifar, write_tarball])
@pytest.mark.parametrize("which", [CIFAR10, CIFAR100])
def test_every_pixel_and_label(tmp_path, which, write):
    source = cifar(which, write(which, tmp_path))
    files = cifar_files(which)
    assert source.name == which.name
    assert source.classes == tuple(f"class {i}" for i in range(which.classes))
    for split, names in (("train", which.train), ("test", (which.test,))):
        records = b"".join(files[name] for name in names)
        size, samples = which.label_bytes + 3072, source.splits[split]
        assert samples.keys == tuple(f"{which.name}/{split}/{i:05d}" for i in range(len(records) // size))
        for i in range(len(samples)):
            record = records[i * size : (i + 1) * size]
            assert samples.labels[i] == record[which.label_bytes - 1]  # CIFAR-100: the fine label, after the coarse one
            picture = samples.read(i)
            assert (picture.dtype, picture.shape) == (np.uint8, (32, 32, 3))
            for row, column, colour in ((0, 0, 0), (0, 31, 1), (17, 4, 2), (31, 31, 2)):
                assert picture[row, column, colour] == record[which.label_bytes + 1024 * colour + 32 * row + column]


@pytest.mark.parametrize("write", [write_cifar, write_tarball])
@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("data_batch_3.bin", lambda held: held[:-3073], r"data_batch_3.bin in .* has 9,219 bytes where 12,292 are"),
        (
            "test_batch.bin",
            lambda held: held + b"x",
            r"test_batch.bin in .* has 12,293 bytes where 12,292 are published",
        ),
        ("data_batch_1.bin", lambda held: b"", "has 0 bytes"),
        ("data_batch_2.bin", lambda held: held[:3073] + b"\x0a" + held[3074:], "holds the label 10 at record 1, but"),
        ("batches.meta.txt", lambda held: b"a\nb\n", "batches.meta.txt in .* does not list 10 classes, one a line"),
        ("batches.meta.txt", lambda held: held.replace(b"class 3", b"class 4"), "does not list 10 classes"),
        ("batches.meta.txt", lambda held: held.replace(b"class 3", b"\x1b[31m"), "does not list 10 classes"),
        ("batches.meta.txt", lambda held: held.replace(b"class 3", b"\xff"), "does not list 10 classes"),
        ("batches.meta.txt", lambda held: held + b" " * 20_000, "does not list 10 classes"),
    ],
)
def test_what_is_not_as_published(tmp_path, write, name, change, sentence):
    files = cifar_files(CIFAR10)
    place = write(CIFAR10, tmp_path, files={**files, name: change(files[name])})
    with pytest.raises(UserError, match=sentence):
        cifar(CIFAR10, place)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    def change(member):
        if member.name.endswith("data_batch_1.bin"):
            member.type, member.linkname = kind, "/etc/passwd"

    with pytest.raises(
        UserError, match=r"holds cifar-10-batches-bin/data_batch_1.bin twice or as a link; copy it again, or delete"
    ):
        cifar(CIFAR10, write_tarball(CIFAR10, tmp_path, change=change))


@pytest.mark.parametrize("prefix", ["", "../", "/", "./cifar-10-batches-bin/../", "cifar-100-binary/"])
def test_members_go_by_their_exact_names(tmp_path, prefix):
    def change(member):
        member.name = member.name.replace("cifar-10-batches-bin/data_batch_4", f"{prefix}data_batch_4")

    with pytest.raises(UserError, match=r"holds no cifar-10-batches-bin/data_batch_4.bin"):
        cifar(CIFAR10, write_tarball(CIFAR10, tmp_path, change=change))
    assert [path.name for path in tmp_path.iterdir()] == ["cifar-10-binary.tar.gz"]


def test_other_members_are_passed_over(tmp_path):
    """Long names, extended headers, links of any kind: nothing that is not asked for is followed."""

    def change(member):
        if member.name.endswith("readme.html"):
            member.name, member.pax_headers = "x" * 300, {"comment": "y" * 5000}

    for how in (
        {"format": tarfile.GNU_FORMAT, "change": change},
        {"format": tarfile.PAX_FORMAT, "change": change},
        {"format": tarfile.USTAR_FORMAT},
    ):
        assert len(cifar(CIFAR10, write_tarball(CIFAR10, tmp_path, **how)).splits["train"]) == 20


def test_a_member_twice(tmp_path):
    tar = tar_bytes(CIFAR10)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar.rstrip(b"\0") + bytes(-len(tar.rstrip(b"\0")) % 512) + tar))
    with pytest.raises(UserError, match="twice"):
        cifar(CIFAR10, tmp_path / "a.tar.gz")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda tar: b"not a tarball" * 100, "is a damaged tarball; copy it again, or delete it and add --fetch"),
        (lambda tar: b"", "holds no cifar-10-batches-bin/data_batch_1.bin"),
        (lambda tar: tar[:40_000], "is cut short|holds no"),
        (lambda tar: tar[:124] + b"\x80" + b"\xff" * 11 + tar[136:], "is a damaged tarball"),  # a size of 2^88
        (lambda tar: tar + bytes(10**6) * 2, "swells to more than 1 MiB"),
    ],
)
def test_damaged_and_swelling_tarballs(tmp_path, change, sentence):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(change(tar_bytes(CIFAR10))))
    with pytest.raises(UserError, match=sentence):
        cifar(CIFAR10, path)


def test_a_size_beyond_all_bounds_ends_at_once(tmp_path):
    """A TarFile would seek there, ten thousand bytes at a time, for years."""
    member = tarfile.TarInfo("cifar-10-batches-bin/zz")
    member.size = 2**62
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(4096)))
    with pytest.raises(UserError, match="is a damaged tarball"):
        cifar(CIFAR10, tmp_path / "a.tar.gz")


def test_a_tarball_that_is_not_compressed(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(tar_bytes(CIFAR10))
    with pytest.raises(UserError, match="is a damaged gzip file"):
        cifar(CIFAR10, tmp_path / "a.tar.gz")
