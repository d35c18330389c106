"""Mutated idx, CIFAR, list, Parquet and shard files: a sentence or data, no traceback, no hang, no memory by the GB."""

import gzip
import importlib.util
import random
import resource
import signal
import struct
import tarfile
import time
import tracemalloc
from contextlib import contextmanager

import pytest

from tests.data_sources import tarred
from tests.data_sources.made import (
    CIFAR10,
    CIFAR100,
    MNIST,
    cifar_files,
    csv_bytes,
    idx_arrays,
    idx_bytes,
    tar_bytes,
    write_cifar,
    write_idx,
    write_images,
)
from tests.data_sources.packed import png, write
from vitlab.data.sources import open_source
from vitlab.data.sources.cifar import cifar
from vitlab.data.sources.idx import idx
from vitlab.errors import UserError

SECONDS, BYTES = 5, 24 << 20  # for one file, at most
ROWS = [("a/1.png", "cat", "train"), ("b/2.png", "dog", "train"), ("a/3.png", "cat", "test"), ("b/4.png", "dog", "val")]


def mutated(held: bytes, draw: random.Random) -> bytes:
    """Bytes flipped, cut, put in, taken out or doubled; or four of them near the start made an extreme number."""
    data = bytearray(held)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(min(len(data), draw.choice((16, 600, 10**9))) or 1)
        match draw.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                data[at : at + 1] = draw.randbytes(1)
            case 2:
                del data[at:]
            case 3:
                data[at:at] = draw.randbytes(draw.randrange(1, 40))
            case 4:
                del data[at : at + draw.randrange(1, 40)]
            case 5:
                data[at:at] = data[at // 2 : at // 2 + draw.randrange(1, 700)]
            case _:
                extreme = draw.choice((0, 1, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1))
                data[at : at + 4] = struct.pack(draw.choice("<>") + "I", extreme)
    return bytes(data)


class Idx:
    """One of the four files of MNIST, plain or compressed, mutated before or after it is compressed."""

    def __init__(self, folder, zipped):
        self.arrays, self.zipped = idx_arrays(), zipped
        self.paths = write_idx(folder, self.arrays, ".gz" if zipped else "")

    def open(self, draw):
        stem = draw.choice(list(self.paths))
        whole, held = self.paths[stem].read_bytes(), idx_bytes(self.arrays[stem])
        inside = self.zipped and draw.random() < 0.7
        self.paths[stem].write_bytes(gzip.compress(mutated(held, draw), 1) if inside else mutated(whole, draw))
        try:
            return idx(MNIST, self.paths)
        finally:
            self.paths[stem].write_bytes(whole)


class Folder:
    def __init__(self, folder, which):
        self.which, self.files = which, cifar_files(which)
        self.place = write_cifar(which, folder)

    def open(self, draw):
        name = draw.choice(list(self.files))
        (self.place / name).write_bytes(mutated(self.files[name], draw))
        try:
            return cifar(self.which, self.place)
        finally:
            (self.place / name).write_bytes(self.files[name])


def mutated_header(tar, headers, draw):
    """One of the headers mutated, its checksum made right again."""
    at = draw.choice(headers)
    head = bytearray(mutated(tar[at : at + 512], draw)[:512].ljust(512, b"\0"))
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 8 * 32 + sum(head[156:]))
    return tar[:at] + bytes(head) + tar[at + 512 :]


def headers_of(tar):
    return [at for at in range(0, len(tar), 512) if tar[at + 257 : at + 262] == b"ustar"]


class Tarball:
    def __init__(self, folder, which):
        self.which, self.tar, self.path = which, tar_bytes(which), folder / "a.tar.gz"
        self.headers = headers_of(self.tar)

    def open(self, draw):
        tar = self.tar
        if draw.random() < 0.5:
            tar = mutated_header(tar, self.headers, draw)
        elif draw.random() < 0.7:
            tar = mutated(tar, draw)
        held = gzip.compress(tar, 1)
        self.path.write_bytes(held if tar is not self.tar else mutated(held, draw))
        return cifar(self.which, self.path)


class Shard:
    """Samples with long names, labels in numbers and in JSON, in either dialect."""

    def __init__(self, folder, form):
        files = {f"{'long' * 40}/{i}.{end}": held for i in range(3) for end, held in self.sample(i).items()}
        self.tar, self.path = tarred.tar(files, form), folder / "a.tar"
        self.headers = headers_of(self.tar)

    @staticmethod
    def sample(i):
        return {"png": png(i), **({"cls": b"%d" % i} if i else {"json": tarred.about(label=i)})}

    def open(self, draw):
        inside = draw.random() < 0.5
        self.path.write_bytes(mutated_header(self.tar, self.headers, draw) if inside else mutated(self.tar, draw))
        return open_source(str(self.path))


class Listed:
    def __init__(self, folder, held, name):
        write_images(folder, [row[0] for row in ROWS])
        self.held, self.path = held, folder / name

    def open(self, draw):
        self.path.write_bytes(mutated(self.held, draw))
        return open_source(str(self.path))


@pytest.fixture(autouse=True)
def _no_cache(tmp_path, monkeypatch):
    """Mutants written within a tick of the clock would be taken for each other."""
    (tmp_path / "no").write_text("")
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "no"))


def _readers(folder):
    def new(name):
        (folder / name).mkdir(parents=True)
        return folder / name

    yield Idx(new("plain"), zipped=False)
    yield Idx(new("zipped"), zipped=True)
    yield Folder(new("cifar10"), CIFAR10)
    yield Folder(new("cifar100"), CIFAR100)
    yield Tarball(new("tar10"), CIFAR10)
    yield Tarball(new("tar100"), CIFAR100)
    yield Listed(new("list"), csv_bytes(ROWS, ("path", "label", "split")), "list.csv")
    if importlib.util.find_spec("pyarrow"):
        yield Listed(new("parquet"), _parquet(folder / "made.parquet"), "list.parquet")
        yield Listed(new("pictures"), write(folder / "held.parquet", 6).read_bytes(), "pictures.parquet")
    yield Shard(new("gnu"), tarfile.GNU_FORMAT)
    yield Shard(new("pax"), tarfile.PAX_FORMAT)


def _parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths, labels, splits = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"path": paths, "label": labels, "split": splits}), path)
    return path.read_bytes()


@contextmanager
def _in_time():
    """An alarm, so that a reader that hangs is stopped where it hangs."""

    def stop(*_):
        raise TimeoutError(f"a reader took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _fuzz(folder, count):
    """How many mutants were refused, and how many still were data, of each reader."""
    readers, draw = list(_readers(folder)), random.Random(20261118)
    outcomes = {type(reader): [0, 0] for reader in readers}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        with _in_time():
            for number in range(count):
                reader = readers[number % len(readers)]
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                sentence = _outcome(reader, draw)
                outcomes[type(reader)][bool(sentence)] += 1
                assert sentence.isprintable(), (number, sentence)
                assert tracemalloc.get_traced_memory()[1] - before < BYTES, number
    finally:
        tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 256 << 10  # kilobytes, pyarrow's own too
    return outcomes


def _outcome(reader, draw):
    """The sentence of the refusal; empty where the mutant still is data."""
    try:
        for samples in reader.open(draw).splits.values():
            samples.read(len(samples) - 1)
    except UserError as error:
        return str(error)
    return ""


def test_300_mutants(tmp_path):
    outcomes = _fuzz(tmp_path, 300)
    assert all(min(outcome) > 0 for outcome in outcomes.values()), outcomes  # mutants of both kinds, of every reader


@pytest.mark.slow
def test_10_000_mutants(tmp_path):
    start = time.monotonic()
    outcomes = _fuzz(tmp_path, 10_000)
    assert sum(map(sum, outcomes.values())) == 10_000
    assert all(min(outcome) > 20 for outcome in outcomes.values()), outcomes
    assert time.monotonic() - start < 600
