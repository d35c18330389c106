"""Several processes take one order together; a run that was stopped goes on where it was."""

import pytest
import torch

from vitlab.data.order import BalancedBatches, BatchesInOrder, NearbyBatches, RepeatedBatches, Share, ShuffledBatches

COUNT, EPOCH = 103, 4
MAKERS = {
    "shuffled": lambda batch, share: ShuffledBatches(COUNT, batch, 5, share),
    "repeated": lambda batch, share: RepeatedBatches(COUNT, batch, 5, 3, share),
    "nearby": lambda batch, share: NearbyBatches([i // 9 for i in range(COUNT)], batch, 5, share, together=3),
    "balanced": lambda batch, share: BalancedBatches([i % 3 for i in range(COUNT)], batch, 5, share),
}


def _drawn(sampler: ShuffledBatches, epoch: int = EPOCH) -> list[torch.Tensor]:
    sampler.set_epoch(epoch)
    return list(sampler)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("batch", "world"), [(8, 2), (5, 3), (16, 1), (12, 8), (40, 4)])
def test_processes_together_see_what_one_would(kind: str, batch: int, world: int) -> None:
    shares = [MAKERS[kind](batch, Share(rank, world)) for rank in range(world)]
    one = MAKERS[kind](min(batch, COUNT // world) * world, Share())
    drawn = [_drawn(share) for share in shares]
    assert {len(batches) for batches in drawn} == {len(share) for share in shares} == {len(one)}
    for parts, whole in zip(zip(*drawn, strict=True), _drawn(one), strict=True):
        assert {len(part) for part in parts} == {min(batch, COUNT // world)}
        assert torch.equal(torch.cat(parts), whole)


def test_no_image_twice_in_an_epoch_whoever_takes_it() -> None:
    drawn = torch.cat([torch.cat(_drawn(ShuffledBatches(COUNT, 8, 0, Share(rank, 3)))) for rank in range(3)])
    assert len(drawn) == len(drawn.unique()) == COUNT // 24 * 24


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("share", [Share(), Share(1, 2)])
def test_an_epoch_that_was_begun_goes_on_at_its_batch(kind: str, share: Share) -> None:
    whole = _drawn(MAKERS[kind](8, share))
    for batch in (0, 1, len(whole) - 1, len(whole)):
        resumed = MAKERS[kind](8, share)
        resumed.start_at(EPOCH, batch)
        rest = _drawn(resumed)
        assert len(resumed) == len(whole)
        assert [each.tolist() for each in rest] == [each.tolist() for each in whole[batch:]]
        following, expected = _drawn(resumed, EPOCH + 1), _drawn(MAKERS[kind](8, share), EPOCH + 1)
        assert [each.tolist() for each in following] == [each.tolist() for each in expected]


@pytest.mark.parametrize(("count", "batch", "world"), [(10, 4, 2), (17, 8, 2), (9, 2, 4), (5, 8, 3), (64, 8, 2)])
def test_what_is_held_out_is_seen_once_in_equally_many_batches(count: int, batch: int, world: int) -> None:
    shares = [BatchesInOrder(count, batch, Share(rank, world)) for rank in range(world)]
    drawn = [list(share) for share in shares]
    assert {len(batches) for batches in drawn} == {len(share) for share in shares}
    sizes = {len(positions) for batches in drawn for positions in batches}
    assert 0 < min(sizes) <= max(sizes) <= batch
    assert sorted(torch.cat([torch.cat(batches) for batches in drawn]).tolist()) == list(range(count))
