"""Batches: every image at most once an epoch, in an order that seed and epoch alone decide; and what is counted."""

import numpy as np
import pytest
import torch

from vitlab.data import memory
from vitlab.data.available import available_memory, too_much
from vitlab.data.memory import Pictures
from vitlab.data.order import BatchesInOrder, ShuffledBatches, generator
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError


def _epoch(count: int, batch: int, seed: int = 0, epoch: int = 0) -> list[list[int]]:
    sampler = ShuffledBatches(count, batch, seed)
    sampler.set_epoch(epoch)
    batches = [positions.tolist() for positions in sampler]
    assert len(batches) == len(sampler)
    return batches


@pytest.mark.parametrize(("count", "batch"), [(10, 3), (12, 4), (5, 5), (7, 1), (3, 8)])
def test_each_image_at_most_once_an_epoch(count: int, batch: int) -> None:
    batches = _epoch(count, batch)
    drawn = sum(batches, [])  # noqa: RUF017  short
    assert {len(positions) for positions in batches} == {min(batch, count)}
    assert len(set(drawn)) == len(drawn) == count // min(batch, count) * min(batch, count)
    assert set(drawn) <= set(range(count))


def test_seed_and_epoch_decide() -> None:
    assert _epoch(100, 8, 1, 2) == _epoch(100, 8, 1, 2)
    orders = {str(_epoch(100, 8, seed, epoch)) for seed in range(4) for epoch in range(4)}
    assert len(orders) == 16


def test_each_purpose_seed_and_step_has_numbers_of_its_own() -> None:
    """The generator takes the low 32 bits of a seed: a seed shifted above them would not count."""
    drawn = {
        generator(purpose, seed, step).initial_seed()
        for purpose in ("order", "variation")
        for seed in (0, 1, 2, 2**31 - 1)
        for step in range(50)
    }
    assert len(drawn) == 400
    first = {float(torch.rand((), generator=generator("variation", seed, 0))) for seed in range(50)}
    assert len(first) == 50


def test_what_one_epoch_leaves_out_another_takes() -> None:
    seen = {position for epoch in range(30) for positions in _epoch(10, 4, 0, epoch) for position in positions}
    assert seen == set(range(10))


@pytest.mark.parametrize(("count", "batch", "sizes"), [(10, 4, [4, 3, 3]), (8, 4, [4, 4]), (3, 4, [3])])
def test_in_order_and_none_left_out(count: int, batch: int, sizes: list[int]) -> None:
    sampler = BatchesInOrder(count, batch)
    batches = list(sampler)
    assert [len(positions) for positions in batches] == sizes
    assert len(sampler) == len(sizes)
    assert torch.cat(batches).tolist() == list(range(count))


def test_statistics_against_numpy() -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 3, 5, 6), dtype=np.uint8)
    images[:, 1] //= 3
    mean, std = memory.statistics(torch.from_numpy(images))
    assert mean == pytest.approx((images / 255).mean(axis=(0, 2, 3)).tolist(), abs=1e-6)
    assert std == pytest.approx((images / 255).std(axis=(0, 2, 3)).tolist(), abs=1e-6)
    flat = memory.statistics(torch.full((2, 1, 3, 3), 51, dtype=torch.uint8))
    assert flat == ((0.2,), (0.001,))  # never a division by nothing


def _samples(count: int) -> Samples:
    arrays = np.random.default_rng(0).integers(0, 256, (count, 6, 4, 3), dtype=np.uint8)
    return Samples(tuple(f"k{i}" for i in range(count)), tuple(i % 3 for i in range(count)), lambda i: arrays[i])


def _preprocess(side: int) -> Preprocess:
    return Preprocess(size=(side, side), mean=(0, 0, 0), std=(1, 1, 1))


def test_loading_keeps_order_labels_and_keys() -> None:
    samples, preprocess = _samples(20), _preprocess(4)
    loaded = memory.load(samples, preprocess)
    assert loaded.images.shape == (20, 3, 4, 4)
    for i in range(20):
        assert torch.equal(loaded.images[i], preprocess.fit(samples.read(i)))
    assert (tuple(loaded.labels.tolist()), loaded.keys) == (samples.labels, samples.keys)
    some = memory.load(samples.at([5, 2]), preprocess)
    assert torch.equal(some.images, loaded.images[[5, 2]])
    assert some.keys == ("k5", "k2")


def test_the_fingerprint_sees_a_pixel_a_label_and_the_order() -> None:
    loaded = memory.load(_samples(4), _preprocess(4))
    again = memory.load(_samples(4), _preprocess(4))
    assert loaded.fingerprint == again.fingerprint
    pixel, label = loaded.images.clone(), loaded.labels.clone()
    pixel[2, 1, 0, 0] ^= 1
    label[1] = 0 if label[1] else 1
    changed = [
        Pictures(pixel, loaded.labels, loaded.keys),
        Pictures(loaded.images, label, loaded.keys),
        Pictures(loaded.images.flip(0), loaded.labels, loaded.keys),
    ]
    assert len({loaded.fingerprint, *(each.fingerprint for each in changed)}) == 4


def test_more_than_memory_holds_is_refused_before_it_is_taken() -> None:
    samples = Samples(("a",) * 10**6, (0,) * 10**6, lambda i: np.zeros((1, 1), np.uint8))
    with pytest.raises(UserError, match=r"^1,000,000 images of 9000x9000 need 226,\d+\.\d GiB of memory, [\d,.]+ GiB"):
        memory.load(samples, _preprocess(9000))


def test_memory_that_is_there() -> None:
    free = available_memory()
    assert free is not None
    assert 2**20 < free < 2**50
    assert too_much(free // 2) == ""
    assert too_much(2 * free).startswith(f"{2 * free / 2**30:,.1f} GiB of memory, ")
