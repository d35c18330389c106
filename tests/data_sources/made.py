"""Small files in each published format, made by code, and the pixels and labels that went into them."""

import csv
import gzip
import io
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from vitlab.data.sources.published import CIFAR_SETS, IDX_SETS, CifarSet

MNIST, FASHION = IDX_SETS["mnist"], IDX_SETS["fashion-mnist"]
CIFAR10 = replace(CIFAR_SETS["cifar10"], records=(4, 4))  # four images a file
CIFAR100 = replace(CIFAR_SETS["cifar100"], records=(6, 4))


def numbers(seed, *shape, below=256):
    return np.random.default_rng(seed).integers(0, below, shape, np.uint8)


def idx_bytes(array):
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def idx_arrays(count=6, side=5):
    """What a small MNIST holds, by the published names."""
    return {
        f"{prefix}-{what}": array
        for seed, prefix in enumerate(("train", "t10k"))
        for what, array in (
            ("images-idx3-ubyte", numbers(seed, count, side, side + 1)),
            ("labels-idx1-ubyte", numbers(9 + seed, count, below=10)),
        )
    }


def write_idx(folder: Path, arrays, end="", dotted=False):
    """The four files, and their paths by the published names."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for stem, array in arrays.items():
        held = idx_bytes(array)
        paths[stem] = folder / ((stem.replace("-idx", ".idx") if dotted else stem) + end)
        paths[stem].write_bytes(gzip.compress(held, mtime=0) if end else held)
    return paths


def cifar_files(which: CifarSet):
    """The contents of each file of the folder, by name."""
    files = {}
    for seed, name in enumerate((*which.train, which.test)):
        count = which.records[name == which.test]
        coarse, label = numbers(seed, count, 1, below=20), numbers(seed + 9, count, 1, below=which.classes)
        before = [coarse] if which.label_bytes == 2 else []
        files[name] = np.concatenate([*before, label, numbers(seed + 99, count, 3072)], axis=1).tobytes()
    files[which.names] = "".join(f"class {i}\n" for i in range(which.classes)).encode() + b"\n"
    return files


def write_cifar(which: CifarSet, root: Path, files=None) -> Path:
    folder = root / which.folder
    folder.mkdir(parents=True)
    for name, held in (files or cifar_files(which)).items():
        (folder / name).write_bytes(held)
    return folder


def tar_bytes(which: CifarSet, files=None, change=lambda member: None, format=tarfile.GNU_FORMAT):  # noqa: A002
    """An uncompressed tarball as published: a folder, a page beside the data, the data."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        folder = tarfile.TarInfo(which.folder)
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, held in {"readme.html": b"a page", **(files or cifar_files(which))}.items():
            member = tarfile.TarInfo(f"{which.folder}/{name}")
            member.size = len(held)
            change(member)
            tar.addfile(member, io.BytesIO(held))
    return out.getvalue()


def write_tarball(which: CifarSet, root: Path, **how) -> Path:
    path = root / which.archive.name
    path.write_bytes(gzip.compress(tar_bytes(which, **how), mtime=0))
    return path


def write_images(folder: Path, names):
    for seed, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numbers(seed, 4, 5, 3)).save(path, format="png")


def csv_bytes(rows, header=("path", "label")):
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue().encode()
