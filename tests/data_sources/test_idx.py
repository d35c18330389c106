"""idx files, as MNIST and Fashion-MNIST are published in them: every number is read, every lie is refused."""

import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from tests.data_sources.made import FASHION, MNIST, idx_arrays, idx_bytes, numbers, write_idx
from vitlab.data.sources.idx import MOST_BYTES, idx, read_idx
from vitlab.errors import UserError


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("which", [MNIST, FASHION])
def test_every_pixel_and_label(tmp_path, which, end):
    arrays = idx_arrays()
    source = idx(which, write_idx(tmp_path, arrays, end))
    assert (source.name, source.classes, list(source.splits)) == (which.name, which.classes, ["train", "test"])
    for split, prefix in (("train", "train"), ("test", "t10k")):
        samples = source.splits[split]
        assert samples.keys == tuple(f"{which.name}/{split}/{i:05d}" for i in range(6))
        assert samples.labels == tuple(arrays[f"{prefix}-labels-idx1-ubyte"].tolist())
        read = np.stack([samples.read(i) for i in range(6)])
        assert read.dtype == np.uint8
        np.testing.assert_array_equal(read, arrays[f"{prefix}-images-idx3-ubyte"])


def test_what_is_compressed_is_known_by_its_bytes(tmp_path):
    """Browsers unpack files and leave .gz in their names."""
    array = numbers(0, 3, 4, 5)
    (tmp_path / "plain.gz").write_bytes(idx_bytes(array))
    (tmp_path / "zipped").write_bytes(gzip.compress(idx_bytes(array)) + bytes(700))  # and tapes pad with zeros
    for name in ("plain.gz", "zipped"):
        np.testing.assert_array_equal(read_idx(tmp_path / name, 3), array)


def test_parts_compressed_one_by_one(tmp_path):
    held = idx_bytes(array := numbers(0, 300, 20, 20))
    (tmp_path / "a").write_bytes(gzip.compress(held[:7]) + gzip.compress(held[7:70_000]) + gzip.compress(held[70_000:]))
    np.testing.assert_array_equal(read_idx(tmp_path / "a", 3), array)


HELD = idx_bytes(numbers(0, 3, 4, 5))


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (
            b"",
            r"is no idx file of images: it begins with (nothing|1f8b\w*), not 00000803; copy it again",
        ),
        (HELD[:9], "is no idx file of images"),
        (b"\0\0\x08\x01" + HELD[4:], "it begins with 00000801, not 00000803"),
        (b"\0\0\x0d\x03" + HELD[4:], "it begins with 00000d03"),
        (b"\x89PNG" + HELD[4:], "it begins with 89504e47"),
        (
            HELD[:-1],
            "says that it holds 3 x 4 x 5 = 60 bytes, but 59 are there; copy it again, or delete it and add --fetch",
        ),
        (HELD + b"x", r"3 x 4 x 5 = 60 bytes, but (61|more) are there"),
        (HELD[:4] + struct.pack(">3I", 3, 0, 5), "says that it holds nothing"),
        (HELD[:4] + struct.pack(">3I", 10**6 + 1, 1, 1), "says that it holds 1,000,001 samples, over 1,000,000"),
        (HELD[:4] + struct.pack(">3I", 10**6, 2**32 - 1, 2**32 - 1) + HELD[16:], "1,000,000 x 4,294,967,295 x"),
    ],
)
def test_what_a_header_claims_is_held_against_the_file(tmp_path, held, sentence, zipped):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(gzip.compress(held) if zipped else held)
    tracemalloc.start()
    with pytest.raises(UserError, match=sentence) as refusal:
        read_idx(path, 3)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(refusal.value).startswith(str(path))
    assert taken < 2_000_000


def test_a_bomb_is_not_unpacked(tmp_path):
    """A megabyte of gzip that claims a gigabyte and more, and one that goes on behind what it claims."""
    zeros = gzip.compress(bytes(10**7)) * 300
    claims = HELD[:4] + struct.pack(">3I", 1000, 1500, 1500)
    (tmp_path / "claims").write_bytes(gzip.compress(claims) + zeros)
    (tmp_path / "goes on").write_bytes(gzip.compress(HELD) + zeros)
    assert MOST_BYTES < 1000 * 1500 * 1500
    tracemalloc.start()
    with pytest.raises(UserError, match="= 2,250,000,000 bytes, but a file of its length unpacks to less"):
        read_idx(tmp_path / "claims", 3)
    with pytest.raises(UserError, match="= 60 bytes, but more are there"):
        read_idx(tmp_path / "goes on", 3)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda held: held[:-9], "is cut short"),
        (lambda held: held[:-6] + b"\xff" + held[-5:], "is a damaged gzip file"),  # in the checksum
        (lambda held: held[:12] + bytes(4) + held[16:], "is a damaged gzip file"),
        (lambda held: held + b"garbage", "is a damaged gzip file"),
    ],
)
def test_a_damaged_gzip_file(tmp_path, change, sentence):
    path = tmp_path / "a.gz"
    path.write_bytes(change(gzip.compress(HELD)))
    with pytest.raises(UserError, match=sentence):
        read_idx(path, 3)


def test_images_and_labels_belong_together(tmp_path):
    arrays = idx_arrays()
    paths = write_idx(tmp_path, {**arrays, "t10k-labels-idx1-ubyte": arrays["t10k-labels-idx1-ubyte"][:5]})
    with pytest.raises(UserError, match=r"t10k-images-idx3-ubyte holds 6 images but .* 5 labels"):
        idx(MNIST, paths)
    labels = np.array([0, 1, 2, 10, 3, 11], np.uint8)
    paths = write_idx(tmp_path, {**arrays, "train-labels-idx1-ubyte": labels})
    with pytest.raises(UserError, match="holds the label 11 at position 5, but the classes of mnist are numbered 0 to"):
        idx(MNIST, paths)


@pytest.mark.parametrize(("held", "asked"), [(MNIST, FASHION), (FASHION, MNIST)])
def test_cousins_are_not_mixed_up(tmp_path, held, asked):
    """Files of the same names and shapes: all labels would be read, and every class name would be wrong."""
    arrays = {**idx_arrays(count=10), "train-labels-idx1-ubyte": np.array(held.first_labels[0], np.uint8)}
    paths = write_idx(tmp_path, arrays)
    assert idx(held, paths).classes == held.classes
    with pytest.raises(UserError, match=f"belongs to {held.name}, not to {asked.name}; keep each in a folder of its"):
        idx(asked, paths)
