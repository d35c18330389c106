"""Memory of batches is used again, and never while somebody can still see it."""

import pytest
import torch

from tests.data.feed.photos import PREPROCESS, SIZE, STEPS, make
from vitlab.data.blocks import Blocks
from vitlab.data.feed.choose import open_feed
from vitlab.data.feed.loader import Loader
from vitlab.data.look import look
from vitlab.data.order import ShuffledBatches

SHAPE = (4, 3, 64, 64)


def _filled(blocks: Blocks, value: float) -> torch.Tensor:
    return blocks.empty(SHAPE, torch.float32).fill_(value)


def test_a_block_that_nobody_holds_is_lent_again():
    blocks = Blocks()
    first = _filled(blocks, 1)
    where = first.data_ptr()
    assert where % 64 == 0
    assert first.shape == SHAPE
    del first
    assert _filled(blocks, 2).data_ptr() == where
    smaller = blocks.empty((2, 5), torch.uint8)
    assert smaller.data_ptr() == where
    assert smaller.shape == (2, 5)


@pytest.mark.parametrize("keep", [
    lambda batch: batch, lambda batch: batch[1:2], lambda batch: batch.detach().flatten(), lambda batch: batch.numpy(),
])  # fmt: skip
def test_whatever_is_kept_of_a_batch_stays_as_it_was(keep):
    blocks = Blocks()
    kept = keep(_filled(blocks, 1))
    for value in range(2, 8):
        assert _filled(blocks, value)[0, 0, 0, 0] == value
    assert (torch.as_tensor(kept) == 1).all()


def test_a_graph_that_needs_a_batch_keeps_it():
    blocks, weight = Blocks(), torch.ones(SHAPE, requires_grad=True)
    product = (weight * _filled(blocks, 3)).sum()
    for value in range(4, 10):
        _filled(blocks, value)
    product.backward()
    assert weight.grad is not None
    assert (weight.grad == 3).all()


def test_idle_blocks_are_few():
    blocks = Blocks()
    held = [_filled(blocks, value) for value in range(20)]
    held.clear()
    assert 1 <= len(blocks.idle) <= 4


def test_batches_kept_over_an_epoch_are_those_looked_at_one_by_one(tmp_path):
    samples = make(tmp_path / "photos")
    feed = open_feed(samples, PREPROCESS, "stream", look(samples))
    blocks = Blocks()

    def shown():
        for raw in Loader(feed, ShuffledBatches(len(feed), 4, 0), SIZE, 3, STEPS[:2], 2):
            yield raw.images, PREPROCESS.normalise(raw.images, blocks)

    kept = list(shown())
    for (images, normal), (images_again, normal_again) in zip(kept, shown(), strict=True):
        assert torch.equal(images, images_again)
        assert torch.equal(normal, normal_again)
