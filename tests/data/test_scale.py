"""Scaling of pieces, through the room that each thread keeps."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch.nn import functional

from vitlab.data.scale import resized


def _picture(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (rows, columns, 3), dtype=np.uint8)


def _plainly(piece: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    image = torch.from_numpy(np.array(piece)).permute(2, 0, 1)[None]
    return functional.interpolate(image, size=size, mode="bilinear", antialias=True)[0].permute(1, 2, 0).numpy()


def test_a_piece_is_scaled_as_its_copy_is_and_the_picture_stays():
    picture = _picture(90, 120)
    picture.setflags(write=False)  # as a mapped file is
    for piece in (picture, picture[10:70, 5:99], picture[:, ::-1], picture[10:42, 20:52]):
        assert np.array_equal(resized(piece, (32, 32)), _plainly(piece, (32, 32)))


def test_what_was_scaled_before_is_not_written_over():
    picture = _picture(90, 120)
    pieces = [picture[i : i + size, i : i + size] for i, size in enumerate((32, 64, 32, 48))]
    found = [resized(piece, (32, 32)) for piece in pieces]  # the first and the third are of that size already
    assert all(np.array_equal(each, _plainly(piece, (32, 32))) for each, piece in zip(found, pieces, strict=True))


def test_a_piece_too_large_for_the_room_is_scaled_too():
    picture = _picture(1300, 1301)
    piece = picture[:, 1:]
    assert piece.nbytes > 1 << 22
    assert np.array_equal(resized(piece, (16, 16)), _plainly(piece, (16, 16)))


def test_threads_have_rooms_of_their_own():
    pictures = [_picture(100, 130, seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda picture: resized(picture[3:93, 7:97], (32, 32)), pictures))
    for each, picture in zip(found, pictures, strict=True):
        assert np.array_equal(each, _plainly(picture[3:93, 7:97], (32, 32)))
