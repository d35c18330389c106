"""Wherever pictures are kept, and however steps are carried out: the same batches."""

import pytest
import torch

from tests.data.feed.photos import BROKEN, PREPROCESS, SIZE, STEPS, batches, make
from vitlab.data.feed.choose import open_feed
from vitlab.data.feed.loader import Loader
from vitlab.data.look import look
from vitlab.data.order import BalancedBatches, BatchesInOrder, RepeatedBatches, ShuffledBatches
from vitlab.errors import UserError


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "cache"))


def _open(samples, way):
    return open_feed(samples, PREPROCESS, way, look(samples))


def test_memory_cache_and_stream_give_the_same_bits(tmp_path):
    samples = make(tmp_path / "photos")
    wanted = batches(_open(samples, "memory"))
    assert torch.equal(batches(_open(samples, "cache")), wanted)  # filled in the first epoch, read in the second
    assert torch.equal(batches(_open(samples, "cache")), wanted)  # read from the start
    assert torch.equal(batches(_open(samples, "stream")), wanted)
    assert not torch.equal(batches(_open(samples, "stream"), seed=1), wanted)


def test_fitted_pictures_are_those_of_preprocess_in_every_way(tmp_path):
    samples = make(tmp_path / "photos", 12)
    wanted = torch.stack([PREPROCESS.fit(samples.read(i)) for i in range(12)])
    for way in ("memory", "cache", "cache", "stream"):
        feed = open_feed(samples, PREPROCESS, way)
        found = list(Loader(feed, BatchesInOrder(12, 5), SIZE, 3))
        assert torch.equal(torch.cat([raw.images for raw in found]), wanted)
        images, where = (torch.cat(parts) for parts in zip(*feed.batches(5), strict=True))
        assert torch.equal(images, wanted)
        assert where.tolist() == list(range(12))
        assert feed.image(3).equal(wanted[3])


def test_steps_one_by_one_or_a_batch_at_a_time_give_the_same_images(tmp_path):
    """To a rounding: what is taken one by one is rounded to bytes in between."""
    feed = _open(make(tmp_path / "photos"), "memory")
    one, all_three = batches(feed, taken=1), batches(feed, taken=3)
    apart = (one - all_three).abs() * 0.2 * 255
    assert float(apart.max()) <= 3
    assert float((apart > 1.01).float().mean()) < 1e-3
    assert float((apart > 0.01).float().mean()) < 0.1


@pytest.mark.parametrize("make_order", [
    lambda feed: RepeatedBatches(len(feed), 8, 0, 2), lambda feed: BalancedBatches(feed.labels, 8, 0),
])  # fmt: skip
def test_repeated_and_balanced_draws_go_with_every_way(tmp_path, make_order):
    samples = make(tmp_path / "photos")
    found = []
    for way in ("memory", "cache", "stream"):
        feed = _open(samples, way)
        found.append(torch.stack([raw.images for raw in Loader(feed, make_order(feed), SIZE, 3, STEPS, 2)]))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_an_epoch_gone_on_with_has_the_batches_it_would_have_had(tmp_path):
    feed = _open(make(tmp_path / "photos"), "stream")
    order = ShuffledBatches(len(feed), 8, 0)
    order.set_epoch(1)
    whole = [raw.images for raw in Loader(feed, order, SIZE, 3, STEPS, 3)]
    order.start_at(1, 3)
    rest = [raw.images for raw in Loader(feed, order, SIZE, 3, STEPS, 3)]
    assert len(rest) == len(whole) - 3
    assert all(torch.equal(a, b) for a, b in zip(rest, whole[3:], strict=True))


def test_a_loader_left_early_leaves_no_threads(tmp_path):
    import threading

    feed = _open(make(tmp_path / "photos"), "stream")
    before = threading.active_count()
    taken = iter(Loader(feed, ShuffledBatches(len(feed), 4, 0), SIZE, 3, STEPS, 1))
    next(taken)
    taken.close()
    assert threading.active_count() == before


def test_a_bad_file_is_named_once_and_another_of_its_class_stands_in(tmp_path, capsys):
    samples = make(tmp_path / "photos")
    bad = [4, 21]
    for i in bad:
        (tmp_path / "photos" / samples.keys[i]).write_bytes(BROKEN)
    feed = _open(samples, "stream")
    first = batches(feed)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(any(samples.keys[i] in line for line in told) for i in bad)
    assert len(feed.left_out) == 2
    assert torch.equal(batches(_open(samples, "cache")), first)
    for i in bad:
        used = {feed.picture(i, f"draw {n}")[1] for n in range(30)}
        assert not used & set(bad)
        assert {samples.labels[j] for j in used} == {samples.labels[i]}
        assert len(used) > 5
        assert feed.picture(i, "x")[1] == feed.picture(i, "x")[1]


def test_a_bad_file_is_not_counted_when_a_model_is_evaluated(tmp_path, capsys):
    samples = make(tmp_path / "photos", 12)
    (tmp_path / "photos" / samples.keys[5]).write_bytes(BROKEN)
    feed = open_feed(samples, PREPROCESS, "stream")
    where = torch.cat([positions for _, positions in feed.batches(4)])
    assert where.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]


def test_too_many_bad_files_stop_with_a_sentence(tmp_path):
    samples = make(tmp_path / "photos")
    for key in samples.keys[::2]:
        (tmp_path / "photos" / key).write_bytes(BROKEN)
    with pytest.raises(UserError, match=r"^\d+ of 40 images cannot be used, the last because .*0\d\d.jpg is a broken"):
        batches(open_feed(samples, PREPROCESS, "stream"), taken=0, epochs=2)
    with pytest.raises(UserError, match=r"^\d+ of \d+ images cannot be used"):
        _open(samples, "memory")


def test_in_memory_bad_files_are_left_out_first(tmp_path):
    samples = make(tmp_path / "photos")
    (tmp_path / "photos" / samples.keys[3]).write_bytes(BROKEN)
    feed = _open(samples, "memory")
    assert len(feed) == len(feed.keys) == 39
    assert samples.keys[3] not in feed.keys
    assert samples.keys[3] in feed.left_out[0]
    stays = make(tmp_path / "photos").at([i for i in range(40) if i != 3])
    assert torch.equal(batches(_open(stays, "stream")), batches(feed))


def test_a_whole_run_is_the_same_from_a_cache_and_streamed(tmp_path, monkeypatch, capsys):
    """With a bad file among them: named once, the same figures to the last digit."""
    import csv

    import vitlab
    from vitlab.data.feed import choose
    from vitlab.data.origin import Origin
    from vitlab.data.splits import open_splits

    make(tmp_path / "photos", 60)
    bad = open_splits(Origin(str(tmp_path / "photos"))).splits["train"].keys[7]
    (tmp_path / "photos" / bad).write_bytes(BROKEN)
    monkeypatch.setattr(choose, "SMALL", 0)
    figures = []
    for name, free in (("cache", 2**34), ("stream", 0)):
        monkeypatch.setattr(choose, "available_memory", lambda free=free: free)
        run = vitlab.train(
            str(tmp_path / "photos"), model="vit_tiny_patch16_224", size=32, change=("depth=1", "width=12"),
            recipe="finetune", epochs=2, batch=8, precision="float32", device="cpu", no_cache=free == 0,
            out=tmp_path / name,
        )  # fmt: skip
        assert f"train: {name}" in (run.folder / "config.yaml").read_text()
        told = capsys.readouterr().err
        assert told.count(f"{bad} is a broken image") == 1
        assert "1 images could not be used, as named above" in told
        with (run.folder / "metrics.csv").open() as file:
            figures.append([(row["train_loss"], row["val_loss"], row["val_accuracy"]) for row in csv.DictReader(file)])
    assert figures[0] == figures[1]
