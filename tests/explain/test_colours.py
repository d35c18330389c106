"""The ramp and the mixing of image and map."""

import numpy as np

from vitlab.explain.colours import RAMP, coloured, enlarged, overlaid, scaled


def test_lighter_means_more():
    shades = coloured(np.linspace(0, 1, 101, dtype=np.float32)) @ np.array([0.2126, 0.7152, 0.0722])
    assert (np.diff(shades) > 0).all()


def test_the_ends_of_the_ramp_are_the_least_and_the_most():
    assert coloured(np.array([0.0, 1.0], dtype=np.float32)).tolist() == [list(RAMP[0]), list(RAMP[-1])]
    assert scaled(np.array([2.0, 4.0])).tolist() == [0.5, 1.0]
    assert scaled(np.array([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert scaled(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_each_place_of_a_map_is_a_rectangle_of_the_image():
    image = np.full((4, 6, 3), 100, dtype=np.uint8)
    mixed = np.asarray(overlaid(image, np.array([[0.0, 1.0, 0.0]]))).astype(int)
    assert (mixed[:, 2:4] == mixed[0, 2]).all()
    assert mixed[0, 2].sum() > mixed[0, 0].sum() + 200
    assert (mixed[:, :2] == mixed[:, 4:]).all()


def test_small_images_are_shown_with_hard_pixels():
    assert enlarged(np.arange(6, dtype=np.uint8).reshape(2, 3), 7).shape == (6, 9)
