"""The tour's figures are those of the code: every example in docs/tour.md is run."""

import doctest
from pathlib import Path

TOUR = Path(__file__).parents[1] / "docs" / "tour.md"


def test_every_example_of_the_tour_gives_what_it_says():
    result = doctest.testfile(str(TOUR), module_relative=False)
    assert result.attempted > 30
    assert result.failed == 0
