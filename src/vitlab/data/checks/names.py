"""Names that make trouble on another machine, in a list or on a screen."""

import unicodedata
from collections.abc import Iterable, Iterator

from vitlab.data.checks.finding import Finding, shown


def odd_names(prefix: str, names: Iterable[str]) -> Iterator[Finding]:
    """What is odd about the names in one folder; `prefix` is the folder's key with a slash, or nothing."""
    first: dict[str, str] = {}
    for name in names:
        key = prefix + name
        if not name.isprintable() or name != name.strip():
            yield Finding("odd-name", key, "the name has characters that do not show, or spaces at its ends; rename it")
        elif not name.isascii():
            yield Finding("non-ascii", key, "a name beyond ASCII; some archives and systems change such names")
        same = folded(name)
        if same in first:
            other = prefix + first[same]
            sentence = (
                f"differs from {shown(first[same])} by case or accents' spelling alone; on Windows and macOS "
                "one replaces the other"
            )
            yield Finding("name-case", key, sentence, other)
        first.setdefault(same, name)


def folded(name: str) -> str:
    """What names have in common that some file systems do not tell apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
