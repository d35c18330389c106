"""The cache of decoded pictures: its key, its locks, and what may happen to it: kills, full disks, other processes."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.data.feed.photos import PREPROCESS, batches, make
from vitlab.data.feed import cache as cache_file
from vitlab.data.feed import caches
from vitlab.data.feed.cache import Cache
from vitlab.data.feed.choose import choose, open_feed
from vitlab.data.feed.decoded import Decoded
from vitlab.data.look import look
from vitlab.errors import UserError

MIB = 2**20


def _picture(i: int) -> np.ndarray:
    return np.random.default_rng(i).integers(0, 256, (20 + i, 30, 3), dtype=np.uint8)


def _kept(cache: Cache) -> list[int]:
    found = []
    for i in range(cache.count):
        picture = cache.get(i)
        if picture is not None:
            assert np.array_equal(picture, _picture(i))
            found.append(i)
    return found


def test_what_is_put_is_there_now_and_later(tmp_path):
    cache = Cache(tmp_path / "c", 10, 3, MIB)
    assert _kept(cache) == []
    for i in (7, 2, 5):
        cache.put(i, _picture(i)[:, ::-1][:, ::-1])  # a view whose bytes are not in their order
    assert _kept(cache) == [2, 5, 7]
    del cache
    again = Cache(tmp_path / "c", 10, 3, MIB)
    assert _kept(again) == [2, 5, 7]
    again.put(0, _picture(0))
    assert _kept(again) == [0, 2, 5, 7]


def test_one_writes_and_others_see_it(tmp_path):
    first, second = Cache(tmp_path / "c", 10, 3, MIB), Cache(tmp_path / "c", 10, 3, MIB)
    assert (first.writes, second.writes) == (True, False)
    first.put(3, _picture(3))
    second.put(4, _picture(4))
    assert _kept(first) == _kept(second) == [3]
    first.put(1, _picture(1))  # beyond what the second has mapped
    assert _kept(second) == [1, 3]
    for held in first.held:
        held.close()
    assert Cache(tmp_path / "c", 10, 3, MIB).writes


@pytest.mark.parametrize("limit", [0, 5_000, 20_000])
def test_no_larger_than_it_may_be(tmp_path, capsys, limit):
    cache = Cache(tmp_path / "c", 20, 3, limit)
    for i in range(20):
        cache.put(i, _picture(i))
    assert (tmp_path / "c" / "pixels").stat().st_size <= limit
    assert len(_kept(cache)) < 20
    assert capsys.readouterr().err.count("takes no more pictures: it has reached the size it may have") == 1


def test_a_full_disk_ends_the_writing_and_nothing_else(tmp_path, monkeypatch, capsys):
    cache = Cache(tmp_path / "c", 10, 3, MIB)
    cache.put(0, _picture(0))

    def half(file, content, start):
        os.pwrite(file, content[: len(content) // 2], start)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_file, "_write", half)
    cache.put(1, _picture(1))
    monkeypatch.undo()
    cache.put(2, _picture(2))
    assert _kept(cache) == [0]
    assert capsys.readouterr().err.count("takes no more pictures: No space left on device; the rest is decoded") == 1


def test_a_limit_on_files_ends_the_writing_too(tmp_path):
    """The system itself refuses, in a process of its own."""
    photos = tmp_path / "photos"
    make(photos)
    code = f"""
        import os, resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        os.environ["VITLAB_CACHE"] = {str(tmp_path / "cache")!r}
        from pathlib import Path
        from tests.data.feed.photos import PREPROCESS, batches
        from vitlab.data.feed.choose import open_feed
        from vitlab.data.look import look
        from vitlab.data.sources.folder import folder
        samples = folder(Path({str(photos)!r})).splits["train"]
        found = [batches(open_feed(samples, PREPROCESS, way, look(samples))) for way in ("cache", "stream")]
        print(bool((found[0] == found[1]).all()))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert done.stderr.count("takes no more pictures: File too large") == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300_000


def _filling(folder: Path) -> str:
    code = f"""
        import sys
        from pathlib import Path
        from tests.data.feed.test_cache import _picture
        from vitlab.data.feed.cache import Cache
        cache = Cache(Path({str(folder)!r}), 2000, 3, 2**30)
        for i in range(2000):
            cache.put(i, _picture(i))
            if i == 100:
                print("begun", flush=True)
    """
    return textwrap.dedent(code)


def test_a_process_killed_while_it_writes_leaves_whole_pictures(tmp_path):
    folder = tmp_path / "c"
    process = subprocess.Popen([sys.executable, "-c", _filling(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = Cache(folder, 2000, 3, 2**30)
    assert again.writes
    kept = _kept(again)
    assert 100 < len(kept) < 2000
    assert kept == list(range(len(kept)))
    again.put(1999, _picture(1999))
    assert _kept(again) == [*kept, 1999]


def test_after_the_machine_went_down_only_what_was_forced_to_the_disk_is_trusted(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "c", 10, 3, MIB)
    cache.put(3, _picture(3))
    for held in cache.held:
        held.close()  # killed: never sealed
    monkeypatch.setattr(cache_file, "_boot", lambda: b"another")
    again = Cache(tmp_path / "c", 10, 3, MIB)
    assert _kept(again) == []
    assert _kept(cache) == [3]  # whoever still reads the old one can
    again.put(4, _picture(4))
    del again
    monkeypatch.setattr(cache_file, "_boot", lambda: b"a third")
    assert _kept(Cache(tmp_path / "c", 10, 3, MIB)) == [4]


@pytest.mark.parametrize("content", [b"", b"junk", bytes(4000)])
def test_what_is_no_index_is_begun_anew(tmp_path, content):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "index").write_bytes(content)
    (tmp_path / "c" / "pixels").write_bytes(b"x")
    cache = Cache(tmp_path / "c", 10, 3, MIB)
    cache.put(3, _picture(3))
    assert _kept(cache) == [3]


def test_the_key_changes_with_a_file_and_with_what_is_made_of_it(tmp_path):
    samples = make(tmp_path, 6)
    first = caches.key(samples, PREPROCESS, True)
    assert caches.key(samples, PREPROCESS.model_copy(update={"mean": (0.1,) * 3}), True) == first
    others = [caches.key(samples, PREPROCESS, False), caches.key(samples.at([1, 0, 2, 3, 4, 5]), PREPROCESS, True)]
    changes = {"stored": 63}, {"size": (30, 32)}, {"crop": 0.9}, {"interpolation": "bilinear"}
    others += [caches.key(samples, PREPROCESS.model_copy(update=change), True) for change in changes]
    path = tmp_path / samples.keys[2]
    state, content = path.stat(), path.read_bytes()
    path.write_bytes(content[:-1] + b"\xd8")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # as long as before, and as old by its own account
    others.append(caches.key(samples, PREPROCESS, True))
    path.unlink()
    others.append(caches.key(samples, PREPROCESS, True))
    assert len({first, *others}) == len(others) + 1


def test_a_changed_file_is_decoded_again(tmp_path, monkeypatch):
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "cache"))
    samples = make(tmp_path / "photos")
    seen = look(samples)
    before = batches(open_feed(samples, PREPROCESS, "cache", seen))
    (tmp_path / "photos" / samples.keys[3]).write_bytes((tmp_path / "photos" / samples.keys[9]).read_bytes())
    after = batches(open_feed(samples, PREPROCESS, "cache", seen))
    assert not torch.equal(before, after)
    assert torch.equal(after, batches(open_feed(samples, PREPROCESS, "stream", seen)))


def test_the_cache_used_least_lately_makes_room_unless_it_is_in_use(tmp_path, monkeypatch):
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("VITLAB_CACHE_LIMIT", str(5 / 1024))  # 5 MiB
    for age, name in enumerate(["old", "used", "new"]):
        cache = Cache(tmp_path / name, 1, 3, 4 * MIB)
        cache.put(0, np.zeros((700, 700, 3), np.uint8))  # 1.4 MiB
        os.utime(tmp_path / name / "used", (age, age))
        del cache
    held = Cache(tmp_path / "old", 1, 3, MIB)
    os.utime(tmp_path / "old" / "used", (0, 0))
    samples = make(tmp_path / "photos", 6)
    opened = caches.open_cache(samples, PREPROCESS, True, 2 * MIB)
    assert sorted(path.name for path in tmp_path.iterdir() if (path / "used").exists()) == sorted(
        ["old", "new", opened.folder.name]
    )
    assert held.get(0) is not None
    with pytest.raises(UserError, match=r"6\.0 GiB are more than the 0 GiB that caches may take"):
        caches.open_cache(samples.at([0, 1]), PREPROCESS, True, 6 * 1024 * MIB)
    monkeypatch.setenv("VITLAB_CACHE_LIMIT", "much")
    with pytest.raises(UserError, match="VITLAB_CACHE_LIMIT wants a number of GiB, not 'much'"):
        caches.limit()


def test_where_no_cache_can_be_written_images_are_decoded_each_time(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "file" / "cache"))
    samples = make(tmp_path / "photos")
    feed = open_feed(samples, PREPROCESS, "cache", look(samples))
    assert "images are decoded in each epoch, without a cache: " in capsys.readouterr().err
    assert torch.equal(batches(feed), batches(open_feed(samples, PREPROCESS, "stream", look(samples))))


def test_where_pictures_are_kept_follows_their_size_and_what_is_free(tmp_path, monkeypatch):
    from vitlab.data.feed import choose as chosen

    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path))
    samples = make(tmp_path / "photos")
    splits, seen = {"train": samples, "val": samples, "test": samples}, look(samples)

    def ways(free: int, small: int = 2**30, cached: bool = True) -> tuple[str, str, str]:
        monkeypatch.setattr(chosen, "available_memory", lambda: free)
        monkeypatch.setattr(chosen, "SMALL", small)
        found, reason = choose(splits, seen, PREPROCESS, whole=True, taken=1, cached=cached)
        assert reason.startswith("training images take ")
        return found.train, found.val, found.test

    fitted = 40 * 3 * 32 * 32
    assert ways(2**34) == ("memory", "memory", "memory")
    assert ways(2**34, small=1000) == ("cache", "memory", "memory")
    assert ways(2**34, small=1000, cached=False) == ("memory", "memory", "memory")
    assert ways(4 * fitted + 4, small=1000) == ("cache", "memory", "cache")
    assert ways(4 * fitted + 4, small=1000, cached=False) == ("stream", "memory", "stream")
    assert isinstance(open_feed(samples, PREPROCESS, "stream"), Decoded)
