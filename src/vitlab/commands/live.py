"""`report.html` while a run goes on: its curves so far, drawn by the first process alone until the report is there."""

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.errors import Interrupted, UserError

if TYPE_CHECKING:
    from vitlab.training.now_and_then import Stand


class LivePage:
    """Draws where the run stands; a page that cannot be written ends no training."""

    def __init__(self, folder: Path) -> None:
        from vitlab.report.facts import read

        self.facts = read(folder)  # of plan and cost, which stay as they are
        self.last: dict[str, Any] = {}

    def training(self, stand: "Stand") -> None:
        """While it trains."""
        self.last = {"epoch": stand.epoch, "epochs": stand.epochs, "share": stand.share}
        self.draw("training", **self.last, left=stand.left, again=stand.again)

    def draw(self, state: Any, **known: Any) -> None:
        """One page, in the place of the last one."""
        from vitlab.report import page
        from vitlab.report.live import Live

        now = datetime.now().astimezone()
        with contextlib.suppress(UserError):
            page.write_live(self.facts, Live(self.facts.run, state, now, **known))


@contextlib.contextmanager
def drawn(folder: Path) -> Iterator[LivePage]:
    """A page from before the first step on; where the run ends otherwise than well, the page says why."""
    page = LivePage(folder)
    page.draw("ready")
    try:
        yield page
    except BaseException as end:
        page.draw("stopped", **page.last, said=_why(end))
        raise


def _why(end: BaseException) -> str:
    """The sentence that the person at the keyboard gets; how to go on is said on the page below it."""
    if isinstance(end, Interrupted):
        return str(end).partition(";")[0]
    if isinstance(end, UserError):
        return str(end)
    return f"it ended with {type(end).__name__}: {str(end).partition(chr(10))[0]}"
