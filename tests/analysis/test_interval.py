"""Wilson's interval against published examples."""

import pytest

from vitlab.analysis.interval import wilson


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17, table I: 81 of 263 and 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)
