"""The page of `vitlab check`: what was found, by kind, with the pictures it was found in; one file, nothing beside it.

Names of files come from strangers: everything goes through jinja's escaping, and names that would not show or would
turn the line around are written with escapes.
"""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitlab.data.checks.finding import KINDS, SEVERITIES, Finding, Severity, shown
from vitlab.data.checks.outcome import Checked, plural
from vitlab.data.checks.sight import in_colour
from vitlab.data.decode import Picture
from vitlab.errors import UserError
from vitlab.files import write_text
from vitlab.report import frame

SIDE = 160  # pixels of a thumbnail's longer side: twice the width it is shown at
PICTURED = 12  # findings of a kind that are shown with pictures
LISTED = 300  # findings of a kind that are listed
_ABOUT_PICTURES = {
    *("leak", "label-conflict", "near-leak", "near-conflict", "duplicate", "near-duplicate", "damaged", "uniform"),
    *("tiny", "elongated", "wrong-suffix", "rotated", "cmyk", "16-bit", "palette", "alpha", "1-bit", "frames"),
}


@dataclass(frozen=True)
class Thumb:
    """A picture small enough for the page."""

    source: str
    width: int
    height: int


@dataclass(frozen=True)
class Line:
    """A finding as the page shows it."""

    key: str
    sentence: str
    other: str
    thumbs: tuple[Thumb, ...]


@dataclass(frozen=True)
class Group:
    """All findings of a kind."""

    kind: str
    title: str
    severity: Severity
    count: int
    pictured: list[Line]
    listed: list[Line]


def write(path: Path, found: Checked, picture: Callable[[str], Picture], command: str) -> None:
    """Write the page; `picture` reads a picture by its key."""
    write_text(path, render(found, picture, command))


def render(found: Checked, picture: Callable[[str], Picture], command: str) -> str:
    """The page as text."""
    page = frame.environment().get_template("check.html")
    return page.render(
        found=found,
        name=shown(Path(found.data).name or found.data),
        counts=[(severity, found.count(severity)) for severity in SEVERITIES],
        groups=[_group(kind, all_of_it, picture) for kind, all_of_it in found.by_kind.items()],
        leave_out=[shown(key) for key in found.leave_out[:LISTED]],
        left_out=len(found.leave_out),
        command=shown(command),
        plural=plural,
        style=frame.style("page.css", "check.css"),
        policy=frame.policy(),
    )


def _group(kind: str, found: list[Finding], picture: Callable[[str], Picture]) -> Group:
    pictured = [_line(one, picture) for one in found[:PICTURED]] if kind in _ABOUT_PICTURES else []
    listed = [_line(one, None) for one in found[len(pictured) : LISTED]]
    return Group(kind, KINDS[kind].title, KINDS[kind].severity, len(found), pictured, listed)


def _line(one: Finding, picture: Callable[[str], Picture] | None) -> Line:
    keys = [one.key, *([one.other] if one.other else [])]
    thumbs = tuple(made for key in keys if picture and (made := _thumb(picture, key)))
    return Line(shown(one.key), one.sentence, shown(one.other or ""), thumbs)


def _thumb(picture: Callable[[str], Picture], key: str) -> Thumb | None:
    """A small JPEG, or a PNG where the picture is so small that its pixels are to be seen; None without a picture."""
    try:
        image = in_colour(picture(key))
    except (UserError, KeyError):
        return None
    small = max(image.size) <= SIDE
    image = image.copy()
    image.thumbnail((SIDE, SIDE))
    kind = "PNG" if small else "JPEG"
    held = io.BytesIO()
    image.save(held, kind)
    return Thumb(f"data:image/{kind.lower()};base64,{base64.b64encode(held.getvalue()).decode()}", *image.size)
