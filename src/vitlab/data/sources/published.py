"""The named data sets as their authors published them: files, addresses, sizes, checksums, names of classes.

Nothing here is ours to choose, and nothing heavy is imported. Sizes and SHA-256 are those that TensorFlow Datasets pins
(`url_checksums/`), MD5 those of the authors' pages and of torchvision; a fetched file has to agree with both.
"""

from dataclasses import dataclass

AGAIN = "copy it again, or delete it and add --fetch"  # the way out of a file that is not as published


@dataclass(frozen=True)
class Download:
    """A file to fetch: where it goes below the root, how long it is, what its bytes add up to, who offers it."""

    path: str
    size: int
    sums: dict[str, str]  # by the name that hashlib knows
    addresses: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class IdxSet:
    """A cousin of MNIST: four idx files, images and labels of `train` and of `t10k`."""

    name: str
    folders: tuple[str, ...]  # below the root, in the order they are looked into
    classes: tuple[str, ...]
    first_labels: tuple[tuple[int, ...], tuple[int, ...]]  # of train and test, to tell the cousins apart
    downloads: tuple[Download, ...]


@dataclass(frozen=True)
class CifarSet:
    """CIFAR-10 or CIFAR-100, binary version: records of `label_bytes`, the last one the class, and 3,072 pixels."""

    name: str
    folder: str
    train: tuple[str, ...]
    test: str
    names: str  # the file that lists the classes, one a line
    classes: int
    label_bytes: int
    records: tuple[int, int]  # in each file of train, and in test
    pickled: tuple[str, ...]  # the same data in a form that runs code when it is read
    archive: Download


def _idx_downloads(
    folder: str, hosts: tuple[str, ...], rows: tuple[tuple[str, int, str, str], ...]
) -> tuple[Download, ...]:
    return tuple(
        Download(f"{folder}/{name}", size, {"sha256": sha256, "md5": md5}, tuple(host + name for host in hosts))
        for name, size, sha256, md5 in rows
    )


_MNIST = IdxSet(
    name="mnist",
    folders=("mnist", "MNIST/raw", "."),  # the second is where torchvision puts them
    classes=tuple("0123456789"),
    first_labels=((5, 0, 4, 1, 9, 2, 1, 3, 1, 4), (7, 2, 1, 0, 4, 1, 4, 9, 5, 9)),
    downloads=_idx_downloads(
        "mnist",
        # The author's own page no longer answers; these are the mirrors that torchvision and TensorFlow use.
        ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
        (
            (
                "train-images-idx3-ubyte.gz",
                9_912_422,
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            ),
            (
                "train-labels-idx1-ubyte.gz",
                28_881,
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                "d53e105ee54ea40749a09fcbcd1e9432",
            ),
            (
                "t10k-images-idx3-ubyte.gz",
                1_648_877,
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                "9fb629c4189551a2d022fa330f9573f3",
            ),
            (
                "t10k-labels-idx1-ubyte.gz",
                4_542,
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
        ),
    ),
)

_FASHION_MNIST = IdxSet(
    name="fashion-mnist",
    folders=("fashion-mnist", "FashionMNIST/raw", "."),
    classes=(
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    ),
    first_labels=((9, 0, 0, 3, 0, 2, 7, 2, 5, 5), (9, 2, 1, 1, 6, 1, 4, 6, 5, 7)),
    downloads=_idx_downloads(
        "fashion-mnist",
        (
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        (
            (
                "train-images-idx3-ubyte.gz",
                26_421_880,
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            ),
            (
                "train-labels-idx1-ubyte.gz",
                29_515,
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                "25c81989df183df01b3e8a0aad5dffbe",
            ),
            (
                "t10k-images-idx3-ubyte.gz",
                4_422_102,
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                "bef4ecab320f06d8554ea6380940ec79",
            ),
            (
                "t10k-labels-idx1-ubyte.gz",
                5_148,
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
        ),
    ),
)  # fmt: skip


def _toronto(name: str, size: int, sha256: str, md5: str) -> Download:
    """From the author's page, which has moved from the first address to the second and redirects there."""
    addresses = (f"https://www.cs.toronto.edu/~kriz/{name}", f"https://cave.cs.toronto.edu/kriz/{name}")
    return Download(name, size, {"sha256": sha256, "md5": md5}, addresses)


_CIFAR10 = CifarSet(
    name="cifar10",
    folder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    test="test_batch.bin",
    names="batches.meta.txt",
    classes=10,
    label_bytes=1,
    records=(10_000, 10_000),
    pickled=("cifar-10-batches-py", "cifar-10-python.tar.gz"),
    archive=_toronto(
        "cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "c32a1d4ab5d03f1284b67883e8d87530",
    ),
)

_CIFAR100 = CifarSet(
    name="cifar100",
    folder="cifar-100-binary",
    train=("train.bin",),
    test="test.bin",
    names="fine_label_names.txt",
    classes=100,
    label_bytes=2,
    records=(50_000, 10_000),
    pickled=("cifar-100-python", "cifar-100-python.tar.gz"),
    archive=_toronto(
        "cifar-100-binary.tar.gz",
        168_513_733,
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        "03b5dce01913d631647c71ecec9e9cb8",
    ),
)

IDX_SETS = {one.name: one for one in (_MNIST, _FASHION_MNIST)}
CIFAR_SETS = {one.name: one for one in (_CIFAR10, _CIFAR100)}
