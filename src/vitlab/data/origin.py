"""Which data a person means: what they typed, where its files lie, what to leave out of them.

Nothing heavy is imported to refuse it.
"""

from dataclasses import dataclass
from pathlib import Path

from vitlab.data.quarantine import read_quarantine
from vitlab.data.sources import check_source


@dataclass(frozen=True)
class Origin:
    """A name or a path; the root below which files of named data lie, and whether to fetch them; a quarantine list."""

    data: str
    root: Path | None = None
    fetch: bool = False
    quarantine: Path | None = None

    def check(self) -> None:
        """Refuse at once what cannot be data."""
        check_source(self.data, self.root, self.fetch)
        if self.quarantine is not None:
            read_quarantine(self.quarantine)
