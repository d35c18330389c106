"""How figures are put into words: counts, percentages, sizes, times and the values of a plan.

Every function takes one value and gives a short text; the template uses them as filters. Rounding never
lies at the ends: 0.99998 is not written as 100%, since somebody would look for the missing error.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

# An en dash: there is no figure here.
ABSENT = "\N{EN DASH}"
# A thousand class names in one line of the plan help nobody.
LONG_LIST, SHOWN_OF_LONG = 24, 8


def count(value: float | None) -> str:
    """A whole number with commas: 1,234,567."""
    return ABSENT if value is None or not math.isfinite(value) else f"{value:,.0f}"


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 error, 4 errors."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def short_count(value: float | None) -> str:
    """A large number to three figures: 85.8 M."""
    if value is None or not math.isfinite(value):
        return ABSENT
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}" if abs(value) < 999.5 * scale else f"{value / scale:,.0f} {unit}"
    return f"{value:,.0f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share of one as a percentage; more digits when rounding would claim all or nothing."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value in (0, 1):
        return f"{value:.0%}"
    for more in range(digits, 5):
        text = f"{100 * value:.{more}f}"
        if float(text) not in (0, 100):
            return f"{text}%"
    return ">99.999%" if value > 0.5 else "<0.001%"


def figure(value: float | None) -> str:
    """A measured number to four significant figures, with an exponent only where it helps."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return "not finite"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-4 else f"{value:.2e}"


def size(value: float | None) -> str:
    """Bytes in the unit people read: 12.3 MiB."""
    if value is None or not math.isfinite(value):
        return ABSENT
    unit = "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1000:
            break
        if unit != "TiB":
            value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"


def duration(seconds: float | None) -> str:
    """A time in its two largest units: 1 h 12 min."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return ABSENT
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minute} min"
    return f"{minutes} min {second} s" if minutes else f"{second} s"


def moment(text: str) -> str:
    """An ISO time as a person writes it; a text that is none is given back as it is."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def value(entry: object) -> str:
    """A plan's value, whatever it is, on one line."""
    if entry is None:
        return "none"
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, int):
        # Years, seeds and sizes read better bare; only long numbers need commas.
        return str(entry) if abs(entry) < 100_000 else f"{entry:,}"
    if isinstance(entry, Mapping):
        return ", ".join(f"{name} {value(inner)}" for name, inner in entry.items()) or "none"
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        if len(entry) > LONG_LIST:
            shown = ", ".join(value(inner) for inner in entry[:SHOWN_OF_LONG])
            return f"{shown} and {len(entry) - SHOWN_OF_LONG:,} more"
        return ", ".join(value(inner) for inner in entry) or "none"
    return str(entry)


def words(name: str) -> str:
    """An identifier as words: `optimizer.weight_decay` becomes `optimizer / weight decay`."""
    return name.replace("_", " ").replace(".", " / ")
