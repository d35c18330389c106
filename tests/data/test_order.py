"""Orders other than a plain shuffle: images repeated, classes in balance."""

import torch

from vitlab.data.order import BalancedBatches, RepeatedBatches


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
