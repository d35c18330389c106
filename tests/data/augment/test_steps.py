"""Flip, crops, erasing and mixing: pixels and targets against what each says it does."""

import numpy as np
import pytest
import torch
from torch import Tensor

from vitlab.data.augment.apply import augment, read_steps
from vitlab.data.augment.crop import PadCrop, ResizedCrop
from vitlab.data.augment.draws import Draws
from vitlab.data.augment.erase import Erase
from vitlab.data.augment.flip import Flip
from vitlab.data.augment.mix import Mix, beta
from vitlab.data.augment.step import Step
from vitlab.errors import UserError


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _noise(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, generator=_generator(9)).float()


def _varied(step: Step, images: Tensor, seed: int = 0) -> Tensor:
    targets = torch.eye(len(images))
    images, after = step.apply(images, targets, _generator(seed))
    assert torch.equal(after, targets)
    return images


def test_half_are_mirrored() -> None:
    images = _noise(1, 2, 4, 5).expand(1000, -1, -1, -1)
    found = _varied(Flip(), images)
    mirrored = sum(torch.equal(image, images[0].flip(2)) for image in found)
    assert mirrored + sum(torch.equal(image, images[0]) for image in found) == 1000
    assert 440 < mirrored < 560


def test_pad_and_crop_moves_each_image_by_whole_pixels_of_its_own() -> None:
    images = _noise(1, 3, 6, 8).expand(400, -1, -1, -1)
    padded = torch.nn.functional.pad(images[0], [2] * 4)
    moves = {(down, right): padded[:, down : down + 6, right : right + 8] for down in range(5) for right in range(5)}
    seen = {
        move for image in _varied(PadCrop(pixels=2), images) for move, cut in moves.items() if torch.equal(image, cut)
    }
    assert len(seen) == 25


def test_a_resized_crop_is_a_piece_of_the_share_asked_for() -> None:
    """On a picture of its own coordinates, the ends of a crop tell where it was cut."""
    rows, columns = torch.meshgrid(torch.arange(64.0), torch.arange(96.0), indexing="ij")
    images = torch.stack([rows, columns]).expand(500, -1, -1, -1)
    found = _varied(ResizedCrop(area=(0.25, 0.5), shape=(0.8, 1.25)), images)
    high = (found[:, 0, -1, 0] - found[:, 0, 0, 0]) * 64 / 63
    wide = (found[:, 1, 0, -1] - found[:, 1, 0, 0]) * 96 / 95
    inside = (high < 62) & (wide < 94)
    area = (high * wide / (64 * 96))[inside]
    assert 0.24 < float(area.min()) < 0.28
    assert 0.46 < float(area.max()) < 0.51
    ratio = (wide / high)[inside]
    assert float(ratio.min()) > 0.75
    assert float(ratio.max()) < 1.32
    assert float(found.min()) >= 0


def test_the_whole_picture_is_a_crop_of_itself() -> None:
    images = _noise(3, 1, 8, 8)
    torch.testing.assert_close(_varied(ResizedCrop(area=(1, 1), shape=(1, 1)), images), images, atol=1e-2, rtol=0)


def test_erasing_takes_one_rectangle_of_two_to_thirty_three_percent() -> None:
    images = torch.full((2000, 1, 40, 40), -1.0)
    gone = _varied(Erase(chance=0.25), images)[:, 0] >= 0
    taken = gone.flatten(1).any(1)
    assert 0.21 < float(taken.float().mean()) < 0.29
    for mask in gone[taken][:200]:
        rows, columns = mask.any(1), mask.any(0)
        assert int(mask.sum()) == int(rows.sum()) * int(columns.sum())  # a rectangle
    share = gone[taken].float().mean((1, 2))
    assert float(share.min()) > 0.01
    assert float(share.max()) < 0.36


def test_mixup_mixes_images_and_targets_alike() -> None:
    images, targets = _noise(4, 1, 3, 3), torch.eye(4)
    mixed, rows = Mix(mixup=0.8, cutmix=0).apply(images, targets, _generator(1))
    weight = float(rows[0, 0])
    assert 0 < weight < 1
    torch.testing.assert_close(mixed, weight * images + (1 - weight) * images.flip(0))
    torch.testing.assert_close(rows, weight * targets + (1 - weight) * targets.flip(0))


@pytest.mark.parametrize("seed", range(20))
def test_cutmix_weighs_targets_by_the_pixels_that_were_laid_in(seed: int) -> None:
    images = torch.arange(4.0)[:, None, None, None].expand(-1, 1, 10, 14)
    mixed, rows = Mix(mixup=0, cutmix=1).apply(images, torch.eye(4), _generator(seed))
    own = (mixed == images).float().mean((1, 2, 3))
    torch.testing.assert_close(rows.diagonal(), own)
    torch.testing.assert_close(rows.sum(1), torch.ones(4))


def test_weights_are_drawn_from_the_beta_asked_for() -> None:
    generator = _generator()
    for alpha in (0.8, 1.0, 0.2):
        found = np.array([beta(alpha, generator) for _ in range(20_000)])
        assert found.mean() == pytest.approx(0.5, abs=0.01)
        assert found.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.05)


def test_both_ways_of_mixing_have_even_chances() -> None:
    images = torch.arange(4.0)[:, None, None, None].expand(-1, 1, 8, 8)
    whole = 0
    for seed in range(300):
        mixed, _ = Mix().apply(images, torch.eye(4), _generator(seed))
        whole += all(float(image.min()) == float(image.max()) for image in mixed) and float(mixed[0, 0, 0, 0]) % 1 != 0
    assert 110 < whole < 190


def test_steps_are_taken_in_their_order_from_labels_to_rows() -> None:
    images, labels = _noise(4, 1, 3, 3).to(torch.uint8), torch.tensor([2, 0, 1, 1])
    steps = read_steps([{"kind": "flip", "chance": 1}, {"kind": "mix", "cutmix": 0}], "recipe.augment")
    varied, rows = augment(steps, images, labels, 3, Draws(1, 0))
    weight = float(rows[0, 2])
    mirrored = images.float().flip(3)
    torch.testing.assert_close(varied, weight * mirrored + (1 - weight) * mirrored.flip(0))
    assert rows.shape == (4, 3)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([{"kind": "flipp"}], "no step of kind 'flipp'; did you mean 'flip'"),
        ([{"kind": "pad_crop", "pixels": -1}], "pixels wants at least 0, not -1"),
        ([{"kind": "mix", "mixup": 0, "cutmix": 0}], "both zero"),
        ([{"kind": "resized_crop", "area": [0.5, 0.1]}], "the smaller first"),
    ],
)
def test_a_wrong_step_is_one_sentence(data: list[dict[str, object]], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        read_steps(data, "recipe.augment")
