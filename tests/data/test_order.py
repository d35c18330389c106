"""Orders other than a plain shuffle: images repeated, classes in balance."""

import torch

from vitlab.data.order import BalancedBatches, NearbyBatches, RepeatedBatches


def test_repeated_images_follow_one_another_and_steps_stay_as_many() -> None:
    sampler = RepeatedBatches(count=90, batch=9, seed=0, repeats=3)
    batches = list(sampler)
    drawn = torch.cat(batches)
    assert len(batches) == 10
    assert torch.equal(drawn[::3], drawn[1::3])
    assert torch.equal(drawn[::3], drawn[2::3])
    assert len(drawn.unique()) == 30


def test_classes_are_drawn_alike_however_rare() -> None:
    labels = torch.tensor([0] * 9000 + [1] * 900 + [2] * 100)
    sampler = BalancedBatches(labels, batch=100, seed=1)
    share = torch.bincount(labels[torch.cat(list(sampler))], minlength=3) / len(labels)
    assert ((share - 1 / 3).abs() < 0.02).all()
    first = torch.cat(list(sampler))
    assert torch.equal(first, torch.cat(list(sampler)))
    sampler.set_epoch(1)
    assert not torch.equal(first, torch.cat(list(sampler)))


def test_batches_from_few_parts_at_a_time() -> None:
    """Every image once; 4 parts in use until they are used up; parts and images in another order each epoch."""
    parts = [i % 40 for i in range(1000)]  # 25 images a part, which need not be neighbours
    sampler = NearbyBatches(parts, batch=20, seed=3, together=4)
    first = torch.cat(list(sampler))
    assert sorted(first.tolist()) == list(range(1000))
    used = [{parts[i] for i in turn} for turn in first.view(10, 100).tolist()]
    assert [len(turn) for turn in used] == [4] * 10
    assert set().union(*used) == set(range(40))
    runs = (torch.tensor(parts)[first].diff() == 0).sum()  # neighbours of one part: a quarter, if truly shuffled
    assert 150 < runs < 350
    sampler.set_epoch(1)
    second = torch.cat(list(sampler))
    assert {frozenset(parts[i] for i in turn) for turn in second.view(10, 100).tolist()} != set(map(frozenset, used))
    assert torch.equal(first, torch.cat(list(NearbyBatches(parts, batch=20, seed=3, together=4))))


def test_one_part_is_a_plain_shuffle() -> None:
    drawn = torch.cat(list(NearbyBatches([0] * 100, batch=10, seed=0)))
    assert sorted(drawn.tolist()) == list(range(100))
    assert drawn.tolist() != list(range(100))
