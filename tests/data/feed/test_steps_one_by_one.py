"""Steps carried out one by one: the same draws, boxes within the picture, and a crop that is what it says."""

import numpy as np
import pytest
import torch

from vitlab.data.augment.apply import augment, read_steps, singly
from vitlab.data.augment.crop import ResizedCrop
from vitlab.data.augment.draws import Draws
from vitlab.data.feed.feeding import Feeding, cut_from_whole, steps_taken, stored_side
from vitlab.data.look import Look

CROP, FLIP, RAND, MIX = ({"kind": kind} for kind in ("resized_crop", "flip", "rand_augment", "mix"))


def test_boxes_have_the_area_and_shape_asked_for_and_stay_inside() -> None:
    crop = ResizedCrop(area=(0.2, 0.6), shape=(0.5, 2.0))
    draws = crop._draws(2000, torch.Generator().manual_seed(0))
    boxes = [crop.box(one, 300, 400) for one in draws]
    for top, left, high, wide in boxes:
        assert 0 <= top <= 300 - high
        assert 0 <= left <= 400 - wide
        assert high * wide <= 0.61 * 300 * 400
    free = [(high * wide / 120_000, wide / high) for _, _, high, wide in boxes if high < 300 and wide < 400]
    assert min(area for area, _ in free) == pytest.approx(0.2, abs=0.01)
    assert min(shape for _, shape in free) == pytest.approx(0.5, abs=0.02)
    assert max(shape for _, shape in free) == pytest.approx(2.0, abs=0.05)
    assert {top for top, _, high, _ in boxes if high < 300} > set(range(0, 60, 20))


def test_a_crop_is_that_piece_of_the_picture() -> None:
    rows, columns = np.meshgrid(np.arange(100), np.arange(120), indexing="ij")
    picture = np.stack([rows, columns, 0 * rows], axis=2).astype(np.uint8)
    crop = ResizedCrop(area=(0.3, 0.5))
    draws = crop._draws(50, torch.Generator().manual_seed(1))
    for change, one in zip(crop.singly(50, (40, 40), torch.Generator().manual_seed(1)), draws, strict=True):
        top, left, high, wide = crop.box(one, 100, 120)
        found = change(picture).astype(float)
        assert found.shape == (40, 40, 3)
        assert found[..., 0].mean() == pytest.approx(top + (high - 1) / 2, abs=0.6)
        assert found[..., 1].mean() == pytest.approx(left + (wide - 1) / 2, abs=0.6)
        assert found[..., 0].min() >= top
        assert found[..., 0].max() <= top + high - 1


@pytest.mark.parametrize("entries", [[FLIP], [CROP], [CROP, FLIP, RAND], [FLIP, RAND, MIX]])
def test_by_the_batch_and_one_by_one(entries: list[dict[str, str]]) -> None:
    """Of pictures of the model's size both ways exist for every step; they agree to a rounding."""
    steps = read_steps(entries, "augment")
    smooth = torch.nn.functional.interpolate(
        torch.rand(16, 3, 5, 5, generator=torch.Generator().manual_seed(3)) * 200 + 20, size=(48, 56), mode="bicubic"
    )
    images, labels = smooth.clamp(0, 255).byte(), torch.arange(16) % 2
    taken = sum(entry is not MIX for entry in entries)
    changes = singly(steps, 16, (48, 56), Draws(5, 9, taken))
    pictures = []
    for image, each in zip(images, changes, strict=True):
        picture = image.permute(1, 2, 0).numpy()
        for change in each:
            picture = change(picture)
        pictures.append(torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1))))
    one_by_one, first = augment(steps, torch.stack(pictures), labels, 2, Draws(5, 9, taken))
    by_batch, second = augment(steps, images, labels, 2, Draws(5, 9))
    assert torch.equal(first, second)
    apart = (one_by_one.float() - by_batch).abs()
    assert float(apart.mean()) < 0.6
    assert float((apart > 4).float().mean()) < 0.002


def test_who_varies_goes_by_size_and_device() -> None:
    steps = read_steps([CROP, FLIP, RAND, MIX], "augment")
    assert steps_taken((224, 224), "cpu", steps, whole=True)[0] == 3
    assert steps_taken((32, 32), "cpu", steps, whole=True)[0] == 1
    assert steps_taken((224, 224), "cuda", steps, whole=True)[0] == 1
    assert steps_taken((32, 32), "cpu", steps[1:], whole=False)[0] == 0
    assert steps_taken((224, 224), "cpu", steps[3:], whole=False)[0] == 0


def test_pictures_are_whole_where_crops_come_first_and_have_more_to_cut_from() -> None:
    steps = read_steps([CROP, FLIP], "augment")
    large, same = Look(((500, 400), (300, 700)), 3), Look(((224, 224),), 3)
    assert cut_from_whole(large, (224, 224), steps)
    assert not cut_from_whole(same, (224, 224), steps)
    assert not cut_from_whole(large, (224, 224), steps[1:])
    assert stored_side(large, (224, 224)) is None
    assert stored_side(large, (160, 160)) == 320
    assert large.mean_area(None) == 205_000
    assert large.mean_area(200) == pytest.approx((250 * 200 + 200 * 700 / 1.5) / 2)
    assert Feeding().train == "memory"


def test_what_a_step_draws_does_not_hang_on_the_steps_before_it() -> None:
    numbers = {torch.rand(4, generator=Draws(seed, batch).generator(step)).sum().item()
               for seed in range(3) for batch in range(3) for step in range(3)}  # fmt: skip
    assert len(numbers) == 27
