"""Which data a person means: what they typed, and where its files lie. Nothing heavy is imported to refuse it."""

from dataclasses import dataclass
from pathlib import Path

from vitlab.data.sources import check_source


@dataclass(frozen=True)
class Origin:
    """A name or a path, with the root below which the files of named data lie, and whether they may be fetched."""

    data: str
    root: Path | None = None
    fetch: bool = False

    def check(self) -> None:
        """Refuse at once what cannot be data."""
        check_source(self.data, self.root, self.fetch)
