"""WebDataset shards: what its own reader sees in them, from an index; what is cut, hostile or not there."""

import gzip
import io
import tarfile

import numpy as np
import pytest
import yaml

import vitlab
from tests.data_sources.packed import pixels, png
from tests.data_sources.tarred import about, tar, write_files, write_shard
from vitlab.data.feed import choose
from vitlab.data.order import NearbyBatches
from vitlab.data.quarantine import read_quarantine, without
from vitlab.data.sources import check_source, open_source, shard
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError
from vitlab.training import fit

pytest.importorskip("webdataset", reason="the tests want the writer: pip install 'vitlab[dev]'")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "shards"


def _same(samples: Samples, seeds):
    for i, seed in enumerate(seeds):
        np.testing.assert_array_equal(np.asarray(samples.read(i)), pixels(seed))


def test_one_shard(tmp_path):
    source = open_source(str(write_shard(tmp_path / "pets.tar", 7)))
    assert (source.name, source.classes, list(source.splits), source.said) == ("pets", ("0", "1", "2"), ["train"], ())
    train = source.splits["train"]
    assert train.keys[:2] == ("pets/000000", "pets/000001")
    assert train.labels == (0, 1, 2, 0, 1, 2, 0)
    assert train.content(5) == ("pets/000005.png", png(5))
    _same(train, range(7))
    _same(train.at([6, 0, 3]), [6, 0, 3])


SAMPLES = [
    {"__key__": "a/one", "jpg": png(0), "cls": b"1", "json": b'{"caption": "x"}', "seg.png": png(9)},
    {"__key__": "a/two", "PNG": png(1), "CLS": b"0"},
    {"__key__": "a/long-", "webp": png(2), "cls": b" 1\n", "txt": b"words"},
    {"__key__": "b/jpeg", "jpeg": png(3), "cls": b"0"},
    {"__key__": "__about__/it", "json": b"{}"},
    {"__key__": "b/none", "txt": b"no picture", "cls": b"0"},
]


@pytest.mark.parametrize("form", ["its own", tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_the_samples_that_webdataset_reads(tmp_path, form):
    """Keys, picture and label of each, whatever the dialect of the tar file, names beyond 100 letters included."""
    import webdataset

    path = tmp_path / "made.tar"
    SAMPLES[2]["__key__"] = "a/long-" + "n" * (80 if form == tarfile.USTAR_FORMAT else 150)
    if form == "its own":
        with path.open("wb") as handle, webdataset.TarWriter(handle, encoder=False) as writer:
            for sample in SAMPLES:
                writer.write(sample)
    else:
        files = {f"{one['__key__']}.{end}": held for one in SAMPLES for end, held in one.items() if end != "__key__"}
        path.write_bytes(tar(files, form))
    theirs = []
    for sample in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False):
        picture = next((sample[name] for name in ("jpg", "jpeg", "png", "webp") if name in sample), None)
        if picture is not None:
            theirs.append((sample["__key__"], picture, int(sample["cls"])))
    source = open_source(str(path))
    train = source.splits["train"]
    ours = [(key.removeprefix("made/"), train.content(i)[1], train.labels[i]) for i, key in enumerate(train.keys)]
    assert ours == theirs
    assert len(ours) == 4
    assert source.said == ("passed over in made.tar are samples without a picture: 1, the first 'b/none'",)


def test_labels_in_json_words_and_a_list_of_classes(tmp_path):
    files = {f"{i}.png": png(i) for i in range(4)}
    files |= {f"{i}.json": about(label=word) for i, word in enumerate(("dog", "cat", "dog", "cat"))}
    source = open_source(str(write_files(tmp_path / "a.tar", files)))
    assert (source.classes, source.splits["train"].labels) == (("cat", "dog"), (1, 0, 1, 0))
    files |= {f"{i}.json": about(label=number) for i, number in enumerate((1, 0, 1, 0))}
    write_files(tmp_path / "a.tar", files)
    (tmp_path / "classes.txt").write_text("dog\ncat\nbird\n")
    source = open_source(str(tmp_path / "a.tar"))
    assert (source.classes, source.splits["train"].labels) == (("dog", "cat", "bird"), (1, 0, 1, 0))
    assert source.said == ("of its 3 classes these have no image: bird",)


def test_folders_in_the_shards_are_classes_where_nothing_else_says(tmp_path):
    files = {f"{name}/{i}.png": png(i) for name in ("dog", "cat") for i in range(2)}
    source = open_source(str(write_files(tmp_path / "a.tar", {"dog": None, **files})))
    assert (source.classes, source.splits["train"].labels) == (("cat", "dog"), (1, 1, 0, 0))
    assert source.splits["train"].keys[0] == "a/dog/0"
    assert source.said[0].startswith("labels are the names of the folders in the shards")


def test_files_of_a_sample_need_not_be_neighbours(tmp_path):
    files = {**{f"{i}.png": png(i) for i in range(3)}, **{f"{i}.cls": b"%d" % (i % 2) for i in range(3)}}
    train = open_source(str(write_files(tmp_path / "a.tar", files))).splits["train"]
    assert train.labels == (0, 1, 0)
    _same(train, range(3))


@pytest.mark.parametrize(
    "names", [("train/0.tar", "train/1.tar", "test/0.tar"), ("p-train-0.tar", "p-train-1.tar", "p-val.tar")]
)
def test_a_folder_of_shards_by_their_names(tmp_path, names):
    for first, name in zip((0, 6, 12), names, strict=True):
        write_shard(tmp_path / "pets" / name, 6, first)
    source = open_source(str(tmp_path / "pets"))
    other = "test" if "test" in names[2] else "val"
    assert (source.name, {split: len(one) for split, one in source.splits.items()}) == ("pets", {"train": 12, other: 6})
    assert source.splits["train"].keys[6] == f"{names[1].removesuffix('.tar')}/000006"
    assert source.splits["train"].parts == (0,) * 6 + (1,) * 6
    _same(source.splits["train"], range(12))
    _same(source.splits[other], range(12, 18))


@pytest.mark.parametrize(
    "pattern", ["p-{000..002}.tar", "p-*.tar", "p-{000..001}.tar p-{002,002}.tar", "p-00[0-2].tar"]
)
def test_patterns(tmp_path, pattern):
    for i in range(3):
        write_shard(tmp_path / f"p-{i:03d}.tar", 4, 4 * i)
    pattern = pattern if " " not in pattern else "p-{{000..001},{002,002}}.tar"
    check_source(str(tmp_path / pattern))
    train = open_source(str(tmp_path / pattern)).splits["train"]
    assert train.keys[-1] == "p-002/000011"
    _same(train, range(12))


def test_a_pattern_of_splits(tmp_path):
    write_shard(tmp_path / "train" / "0.tar", 6)
    write_shard(tmp_path / "test" / "0.tar", 3, 6)
    splits = open_source(str(tmp_path / "{train,test}" / "*.tar")).splits
    assert {split: samples.keys[0] for split, samples in splits.items()} == {
        "train": "train/0/000000", "test": "test/0/000006",
    }  # fmt: skip
    assert list(open_source(str(tmp_path / "test" / "*.tar")).splits) == ["train"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("p-{0..3}.tar", r"stands for .*p-1.tar and 2 more, which are not there"),
        ("q-*.tar", r"stands for .*q-\*.tar, which is not there; mend it"),
        ("p-{0..99999999}.tar", "stands for more than 1,000,000 files; is that a slip"),
        ("p-{0..9999}{0..9999}.tar", "stands for more than 1,000,000 files"),
        ("p-{{0}.tar", r"is no pattern \(unbalanced braces\); close each brace"),
    ],
)
def test_patterns_that_lead_to_nothing(tmp_path, pattern, said):
    write_shard(tmp_path / "p-0.tar", 3)
    with pytest.raises(UserError, match=said):
        check_source(str(tmp_path / pattern))


def test_the_index_is_kept_until_the_shard_changes(tmp_path, cache, monkeypatch):
    path = write_shard(tmp_path / "a.tar", 6)
    first = open_source(str(path))
    (kept,) = cache.iterdir()
    read = []
    real = shard.members
    monkeypatch.setattr(shard, "members", lambda path: read.append(path) or real(path))
    again = open_source(str(path))
    assert read == []
    assert (again.splits["train"].keys, again.splits["train"].labels) == (first.splits["train"].keys, (0, 1, 2) * 2)
    _same(again.splits["train"], range(6))
    for held in (b"", b"{}", b"[" * 100_000, kept.read_bytes().replace(b'"offsets": [', b'"offsets": [-1, ')):
        kept.write_bytes(held)
        _same(open_source(str(path)).splits["train"], range(6))
    assert len(read) == 4
    write_shard(path, 9)
    assert len(open_source(str(path)).splits["train"]) == 9
    assert len(read) == 5
    assert len(list(cache.iterdir())) == 1


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "file"))
    assert len(open_source(str(write_shard(tmp_path / "a.tar", 6))).splits["train"]) == 6


@pytest.mark.parametrize("cut", [0, 300, 512, 700, 5000, 9000])
def test_a_shard_that_was_cut_gives_what_is_whole(tmp_path, cut):
    """The picture that the end goes through is there and cannot be decoded; no other is lost."""
    path = write_shard(tmp_path / "a.tar", 12)
    held = path.read_bytes().rstrip(b"\0")
    path.write_bytes(held[: len(held) - cut])
    source = open_source(str(path))
    train = source.splits["train"]
    (said,) = source.said
    assert said == f"a.tar is cut short or damaged after {len(train)} samples; copy it again"
    whole = [i for i in range(12) if png(i) in path.read_bytes()]
    assert len(whole) <= len(train) <= len(whole) + 1
    _same(train, whole)
    if len(train) > len(whole):
        with pytest.raises(UserError, match=rf"a/{len(whole):06d}.png is (a broken|no) image"):
            train.read(len(whole))


def test_a_damaged_header_in_the_middle(tmp_path):
    path = write_shard(tmp_path / "a.tar", 6)
    held = bytearray(path.read_bytes())
    at = held.index(b"000004.cls")
    held[at + 50] ^= 255
    path.write_bytes(held)
    source = open_source(str(path))
    assert source.splits["train"].labels == (0, 1, 2, 0)
    assert source.said == ("a.tar is cut short or damaged after 4 samples; copy it again",)


def _header(name, size, kind=b"0"):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "holds no sample with a picture; it wants files such as 0001.jpg and 0001.cls"),
        (b"x" * 4000, "holds no sample with a picture"),
        (tar({"a.txt": b"x"}), "holds no sample with a picture"),
        (gzip.compress(tar({"a.png": png(0)})), r"is compressed \(gzip\), so that no image of it can be reached alone"),
        (tar({"../../etc/a.png": png(0)}), "holds '../../etc/a.png', a name that leads out of it"),
        (tar({"/etc/a.png": png(0)}), "holds '/etc/a.png', a name that leads out of it"),
        (tar({"a/../../b.png": png(0)}), "a name that leads out of it; write it again without such names"),
        (tar({"n" * 5000 + ".png": png(0)}), "holds 'n{200}', a name that leads out of it"),
        (tar([("a.png", png(0)), ("a.png", png(1))]), "holds 'a.png' twice; write it again with a key for each sample"),
        (tar({"a.png": png(0), "a.cls": b"9" * 5000}), "holds 'a.cls' of 5,000 bytes, which can be no label"),
        (tar({"a.png": png(0), "a.cls": b"cat"}), "has only the label 'cat'; a classifier wants at least two"),
        (tar({"a.png": png(0), "b.png": png(1)}), "a/a in train of a has no label"),
        (_header("x" * 90, 1 << 40, b"L") + bytes(2000), "holds no sample with a picture"),
        (_header("x" * 90, 30, b"x") + b"99999999 path=a\n".ljust(512, b"\0") + bytes(1024), "holds no sample with"),
        (_header("x" * 90, 30, b"x") + b"x".ljust(512, b"\0") + bytes(1024), "holds no sample with a picture"),
    ],
)
def test_what_is_no_shard(tmp_path, held, said):
    (tmp_path / "a.tar").write_bytes(held)
    with pytest.raises(UserError, match=said) as refusal:
        open_source(str(tmp_path / "a.tar"))
    assert str(refusal.value).isprintable()


def test_a_picture_of_an_absurd_size_is_one_bad_picture(tmp_path):
    """A sparse file claims it, and takes no room until somebody believes it."""
    small = tar({"a.cls": b"0", "b.cls": b"1", "c.cls": b"1", "a.png": png(0), "b.png": png(1)}).rstrip(b"\0")
    small += bytes(-len(small) % 512)
    with (tmp_path / "a.tar").open("wb") as handle:
        handle.write(small + _header("c.png", 3 << 30))
        handle.seek((3 << 30) + len(small) + 512)
        handle.write(bytes(1024))
    train = open_source(str(tmp_path / "a.tar")).splits["train"]
    _same(train.at([0, 1]), [0, 1])
    with pytest.raises(UserError, match="a/c has 3,221,225,472 bytes, which is no picture; leave it out"):
        train.read(2)


def test_links_and_devices_in_a_shard_are_nothing(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as held:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            member = tarfile.TarInfo(f"link{ord(kind)}.png")
            member.type, member.linkname = kind, "/etc/passwd"
            held.addfile(member)
    (tmp_path / "a.tar").write_bytes(
        out.getvalue().rstrip(b"\0").ljust(2048, b"\0")
        + tar({f"{i}.{end}": content for i in range(2) for end, content in (("png", png(i)), ("cls", b"%d" % i))})
    )
    train = open_source(str(tmp_path / "a.tar")).splits["train"]
    assert train.keys == ("a/0", "a/1")


def test_samples_without_a_label_are_passed_over_where_others_have_one(tmp_path):
    files = {f"{i}.png": png(i) for i in range(4)} | {"0.cls": b"0", "2.cls": b"1", "3.cls": b"\xff", "1.json": b"["}
    source = open_source(str(write_files(tmp_path / "a.tar", files)))
    assert source.splits["train"].keys == ("a/0", "a/2")
    assert source.said == ("passed over in train are samples without a label: 2, the first 'a/1'",)


def test_a_shard_that_went_away(tmp_path):
    path = write_shard(tmp_path / "a.tar", 6)
    train = open_source(str(path)).splits["train"]
    path.unlink()
    with pytest.raises(UserError, match=r"cannot read a/000003 in .*a.tar: No such file or directory"):
        train.read(3)


def test_a_list_of_classes_that_is_none(tmp_path):
    write_shard(tmp_path / "a.tar", 6)
    for held, said in (
        (b"\xff", "is not UTF-8 text"),
        (b"a\na\n", "calls two classes 'a'"),
        (b"a\nb", "there are 2 cl"),
    ):
        (tmp_path / "classes.txt").write_bytes(held)
        with pytest.raises(UserError, match=said):
            open_source(str(tmp_path / "a.tar"))


def test_compressed_shards_are_refused_with_the_way_out(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(b"")
    with pytest.raises(UserError, match=r"is a file; give .* or shards \(.tar, not compressed\)"):
        check_source(str(tmp_path / "a.tar.gz"))


def test_it_trains_and_is_evaluated(tmp_path):
    for first, name in ((0, "train-0"), (30, "train-1"), (60, "test-0")):
        write_shard(tmp_path / "pets" / f"{name}.tar", 30, first)
    run = vitlab.train(
        str(tmp_path / "pets"), model="vit_few_patch2_8", change=("depth=1", "width=12"), epochs=1, threads=1,
        precision="float32", quiet=True, out=tmp_path / "run",
    )  # fmt: skip
    assert run.evaluation.images == 30
    assert vitlab.evaluate(tmp_path / "run") == run.evaluation
    assert vitlab.evaluate(tmp_path / "run", str(tmp_path / "pets" / "{train,test}-*.tar")).images == 30


def test_check_looks_inside(tmp_path):
    """As into a folder of files: the cut shard, the bad pictures, a copy in two splits, a class that is missing."""
    pets = tmp_path / "pets"
    write_shard(pets / "train-0.tar", 12)
    held = write_shard(pets / "train-1.tar", 12, 12).read_bytes()
    (pets / "train-1.tar").write_bytes(held[: held.index(png(20)) + 60])
    files = {"a.png": png(3), "a.cls": b"0", "b.jpg": png(30), "b.cls": b"1", "c.jpg": b"text", "c.cls": b"0"}
    write_files(pets / "test-0.tar", files | {"d.png": b"", "d.cls": b"1"})
    found = vitlab.check(str(pets), quarantine=tmp_path / "bad.txt", page=tmp_path / "check.html")
    assert {(one.kind, one.key, one.other) for one in found.findings if one.kind != "tiny"} == {
        ("truncated", "train-1/000020", None),
        ("to-know", "pets", None),
        ("leak", "train-0/000003", "test-0/a"),
        ("wrong-suffix", "test-0/b", None),
        ("not-an-image", "test-0/c", None),
        ("empty", "test-0/d", None),
        ("class-missing", "train/2", None),
    }
    assert found.by_kind["to-know"][0].sentence == "train-1.tar is cut short or damaged after 9 samples; copy it again"
    source = without(open_source(str(pets)), read_quarantine(tmp_path / "bad.txt"))
    assert {split: len(samples) for split, samples in source.splits.items()} == {"train": 19, "test": 2}
    for samples in source.splits.values():
        assert all(samples.read(i).size == (6, 5) for i in range(len(samples)))


def test_what_is_not_kept_is_read_a_few_shards_at_a_time(tmp_path, monkeypatch):
    """Where memory is too small for the pictures, training goes by the order that is kind to disks."""
    for i in range(40):
        write_shard(tmp_path / "pets" / f"train-{i:02d}.tar", 4, 4 * i)
    write_shard(tmp_path / "pets" / "val.tar", 12, 200)
    write_shard(tmp_path / "pets" / "test.tar", 12, 300)
    drawn = []

    class Spy(NearbyBatches):
        def __iter__(self):
            for positions in super().__iter__():
                drawn.extend(positions.tolist())
                yield positions

    monkeypatch.setattr(choose, "available_memory", lambda: 1)
    monkeypatch.setattr(fit, "NearbyBatches", Spy)
    run = vitlab.train(
        str(tmp_path / "pets"), model="vit_few_patch2_8", change=("depth=1", "width=12"), epochs=1, batch=16, threads=1,
        precision="float32", quiet=True, out=tmp_path / "run",
    )  # fmt: skip
    assert sorted(drawn) == list(range(160))
    assert [len({i // 4 for i in drawn[at : at + 64]}) for at in (0, 64)] == [16, 16]
    plan = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert plan["feeding"]["train"] == "stream"
    assert "from a few parts of the data at a time" in plan["reasons"]["feeding"]
    assert run.evaluation.images == 12
