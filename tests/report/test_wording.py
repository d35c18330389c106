"""Figures in words, above all where rounding could lie."""

import math

import pytest

from vitlab.report import wording


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.98888, "98.9%"),
        (1, "100%"),
        (0, "0%"),
        (0.99996, "99.996%"),
        (0.0002, "0.02%"),
        (1 - 1e-9, ">99.999%"),
        (1e-9, "<0.001%"),
        (None, wording.ABSENT),
        (math.nan, wording.ABSENT),
    ],
)
def test_percent_never_claims_all_or_nothing(share: float | None, text: str) -> None:
    assert wording.percent(share) == text


def test_counts_sizes_and_times() -> None:
    assert wording.count(1281167) == "1,281,167"
    assert [wording.short_count(n) for n in (950, 674122, 85.8e6, 1.13e9, 999_600)] == [
        "950", "674 k", "85.8 M", "1.13 G", "1,000 k",
    ]  # fmt: skip
    assert [wording.size(n) for n in (512, 4096, 88604672, 3 * 2**40)] == ["512 B", "4 KiB", "84.5 MiB", "3 TiB"]
    assert [wording.duration(s) for s in (0.52, 59.7, 92, 4320)] == ["0.5 s", "1 min 0 s", "1 min 32 s", "1 h 12 min"]
    assert [wording.figure(v) for v in (0.051342, 12345.6, 0.00001234, 0.0, math.inf)] == [
        "0.05134", "12,346", "1.23e-05", "0", "not finite",
    ]  # fmt: skip
    assert (wording.plural(1, "error"), wording.plural(2, "class", "classes")) == ("1 error", "2 classes")


def test_values_and_names() -> None:
    assert wording.value([0.9, 0.999]) == "0.9, 0.999"
    assert wording.value(list(range(1000))) == "0, 1, 2, 3, 4, 5, 6, 7 and 992 more"
    assert [wording.value(v) for v in (True, None, {}, {"a": 1}, 1077, 1281167)] == [
        "yes", "none", "none", "a 1", "1077", "1,281,167",
    ]  # fmt: skip
    assert wording.words("optimizer.weight_decay") == "optimizer / weight decay"
    assert wording.moment("2026-11-18T21:14:03+00:00") == "18 November 2026, 21:14 UTC"
    assert wording.moment("yesterday") == "yesterday"
