"""A bar on standard error while images are looked at, where that is a terminal."""

import contextlib
from collections.abc import Iterator

from vitlab.data.checks.everything import Tick


@contextlib.contextmanager
def progress() -> Iterator[Tick]:
    """What is to be called with each image that is done, and with how many there are."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, whole: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, refresh_per_second=4, transient=True) as bar:
        task = bar.add_task("decoding", total=None)
        yield lambda done, whole: bar.update(task, advance=done, total=whole)
