"""Turning, mirroring, moving: against torch's own where both can, and true to shape where they cannot."""

import math

import pytest
import torch
from torch import Tensor

from vitlab.data.augment.affine import Affine


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _applied(step: Affine, images: Tensor, generator: torch.Generator) -> Tensor:
    varied, targets = step.apply(images.float(), torch.eye(len(images)), generator)
    assert torch.equal(targets, torch.eye(len(images)))
    return varied


def _noise(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=_generator())


def _force(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """Every draw comes out the same: 1 is as far as asked one way, 0 the other, one half is nothing."""
    monkeypatch.setattr(torch, "rand", lambda count, **_: torch.full((count,), value))


@pytest.mark.parametrize("shape", [(8, 8), (9, 9), (6, 10)])
def test_draws_of_nothing_leave_every_pixel(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    images = _noise(2, 3, *shape)
    _force(monkeypatch, 0.5)
    full = Affine(rotate=90, shift=0.5, scale=0.5, shear=30)
    torch.testing.assert_close(_applied(full, images, _generator()), images.float(), atol=1e-3, rtol=0)


@pytest.mark.parametrize(("draw", "turns"), [(1.0, 1), (0.0, -1)])
@pytest.mark.parametrize("side", [8, 9])
def test_a_quarter_turn(monkeypatch: pytest.MonkeyPatch, draw: float, turns: int, side: int) -> None:
    images = _noise(2, 3, side, side)
    _force(monkeypatch, draw)
    turned = _applied(Affine(rotate=90), images, _generator())
    torch.testing.assert_close(turned, images.rot90(turns, (2, 3)).float(), atol=1e-3, rtol=0)


@pytest.mark.parametrize("shape", [(8, 8), (5, 9)])
def test_half_a_turn(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    images = _noise(2, 3, *shape)
    _force(monkeypatch, 0.0)
    torch.testing.assert_close(
        _applied(Affine(rotate=180), images, _generator()), images.flip(2, 3).float(), atol=1e-3, rtol=0
    )


def test_a_shift_by_whole_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    images = _noise(1, 1, 8, 16)
    _force(monkeypatch, 1.0)
    moved = _applied(Affine(shift=0.25), images, _generator())
    torch.testing.assert_close(moved[..., :6, :12], images[..., 2:, 4:].float(), atol=1e-3, rtol=0)
    assert moved[..., 6:, :].max() == 0
    assert moved[..., 12:].max() == 0


def _spread(image: Tensor) -> tuple[float, float, float]:
    """Second moments of the light: along rows, along columns, between them."""
    light = image.double() / image.sum()
    rows, columns = (torch.arange(side).double() - (side - 1) / 2 for side in image.shape)
    down, right, both = rows[:, None] ** 2, columns[None, :] ** 2, rows[:, None] * columns[None, :]
    return float((light * down).sum()), float((light * right).sum()), float((light * both).sum())


@pytest.mark.parametrize("shape", [(60, 60), (60, 120), (120, 60)])
@pytest.mark.parametrize("degrees", [30, 45, 77])
def test_a_turned_disk_stays_a_disk(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], degrees: float) -> None:
    rows, columns = (torch.arange(side) - (side - 1) / 2 for side in shape)
    disk = ((rows[:, None] ** 2 + columns[None, :] ** 2) < 20**2).to(torch.uint8) * 200
    _force(monkeypatch, 1.0)
    turned = _applied(Affine(rotate=degrees), disk[None, None], _generator())[0, 0]
    for found, wanted in zip(_spread(turned), (100, 100, 0), strict=True):  # r^2 / 4 either way
        assert found == pytest.approx(wanted, abs=1.5)
    bar = disk * (rows[:, None].abs() < 4)
    down, right, both = _spread(_applied(Affine(rotate=degrees), bar[None, None], _generator())[0, 0])
    angle = 0.5 * math.degrees(math.atan2(2 * both, right - down))
    assert abs(angle) == pytest.approx(degrees, abs=1.0)


def test_scale_is_each_axis_its_own() -> None:
    """A disk becomes an ellipse of between 0.8 and 1.2 times its size either way."""
    axis = torch.arange(64) - 31.5
    disk = ((axis[:, None] ** 2 + axis[None, :] ** 2) < 20**2).to(torch.uint8) * 200
    images = disk.expand(200, 1, 64, 64)
    found = torch.tensor([_spread(image[0])[:2] for image in _applied(Affine(scale=0.2), images, _generator())])
    sizes = (found / 100).sqrt()
    assert 0.78 < float(sizes.min()) < 0.85
    assert 1.15 < float(sizes.max()) < 1.22
    assert abs(float(torch.corrcoef(sizes.T)[0, 1])) < 0.25


def test_the_generator_decides() -> None:
    images = _noise(6, 1, 12, 12)
    varied = Affine(rotate=20, shift=0.1, scale=0.1, shear=5)
    first = _applied(varied, images, _generator(3))
    assert torch.equal(_applied(varied, images, _generator(3)), first)
    assert not torch.equal(_applied(varied, images, _generator(4)), first)
    assert (
        len({bytes(image.numpy()) for image in _applied(varied, images[:1].expand(6, -1, -1, -1), _generator())}) == 6
    )
