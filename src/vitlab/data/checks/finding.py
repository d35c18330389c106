"""What `vitlab check` can find: the kinds, how bad each is, and one finding.

An *error* is what training leaves out or stops at, or what makes its figures untrue; a *warning* is what somebody
should look at; a *note* says what is handled, and how.
"""

import json
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Kind:
    """How bad a kind of finding is, and its heading."""

    severity: Severity
    title: str


KINDS = {
    "refused": Kind("error", "training refuses these data"),
    "leak": Kind("error", "same picture in two splits"),
    "label-conflict": Kind("error", "same picture in two classes"),
    "truncated": Kind("error", "ends too early"),
    "broken": Kind("error", "cannot be decoded"),
    "empty": Kind("error", "has no bytes"),
    "not-an-image": Kind("error", "named as an image, is none"),
    "unsupported": Kind("error", "of a format that is not decoded"),
    "pixels": Kind("error", "pixels with no one way to 8 bits"),
    "huge": Kind("error", "too many pixels"),
    "unreadable": Kind("error", "cannot be read"),
    "link-broken": Kind("error", "link to nothing"),
    "special": Kind("error", "no file but a pipe, socket or device"),
    "to-know": Kind("warning", "to know before training"),
    "near-leak": Kind("warning", "nearly the same picture in two splits"),
    "near-conflict": Kind("warning", "nearly the same picture in two classes"),
    "duplicate": Kind("warning", "same picture twice in a class"),
    "near-duplicate": Kind("warning", "nearly the same picture twice in a class"),
    "empty-class": Kind("warning", "class without images"),
    "one-image": Kind("warning", "class of one image"),
    "class-missing": Kind("warning", "class missing from a split"),
    "class-case": Kind("warning", "class names that differ by case alone"),
    "split-as-class": Kind("warning", "split taken for a class"),
    "imbalance": Kind("warning", "classes of very different sizes"),
    "damaged": Kind("warning", "decoded, but without its end"),
    "uniform": Kind("warning", "one colour only"),
    "tiny": Kind("warning", "very small"),
    "elongated": Kind("warning", "very long and narrow"),
    "wrong-suffix": Kind("warning", "another format than its name says"),
    "ignored-image": Kind("warning", "image that is not looked at"),
    "other-format": Kind("warning", "picture, film or document that is not looked at"),
    "stray": Kind("warning", "image outside the class folders"),
    "stray-folder": Kind("warning", "folder beside the splits"),
    "link-outside": Kind("warning", "link that leaves the folder"),
    "link-loop": Kind("warning", "link that leads in a circle"),
    "name-case": Kind("warning", "names that differ by case alone"),
    "odd-name": Kind("warning", "name with characters that do not show"),
    "rotated": Kind("note", "turned upright"),
    "cmyk": Kind("note", "printing colours, turned to RGB"),
    "16-bit": Kind("note", "more than 8 bits, scaled to 8"),
    "palette": Kind("note", "palette, turned to RGB"),
    "alpha": Kind("note", "transparent, laid on white"),
    "1-bit": Kind("note", "black and white"),
    "frames": Kind("note", "several pictures, the first is used"),
    "nested": Kind("note", "folder inside a class, counted in"),
    "link": Kind("note", "link within the folder"),
    "non-ascii": Kind("note", "name beyond ASCII"),
    "hidden": Kind("note", "hidden, not looked at"),
    "other-file": Kind("note", "no image, not looked at"),
}


@dataclass(frozen=True)
class Finding:
    """One thing found about one file, folder or class; `other` is the file it goes with.

    `leave_out` says that the file belongs on the list of files to leave out.
    """

    kind: str
    key: str
    sentence: str
    other: str | None = None
    leave_out: bool = False

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    @property
    def rank(self) -> int:
        """Its place among the kinds: the worst first."""
        return _RANK[self.kind]


_RANK = {kind: place for place, kind in enumerate(KINDS)}


def shown(name: str) -> str:
    """A name as it can be printed: what a terminal would obey or could not encode is escaped."""
    return name if name.isprintable() else json.dumps(name, ensure_ascii=not _encodable(name))[1:-1].translate(_UNSEEN)


def _encodable(name: str) -> bool:
    """Names that are no UTF-8 come with lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


class _Escapes(dict[int, str]):
    """JSON escapes control characters; this the rest of what does not show, such as a change of direction."""

    def __missing__(self, letter: int) -> str:
        return chr(letter) if chr(letter).isprintable() else f"\\u{letter:04x}"


_UNSEEN = _Escapes()
