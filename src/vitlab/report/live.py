"""What a page says of a run that has not ended: where it stands, when that was drawn, and how it goes on.

A page on disk cannot know that its run was killed. So it says when it was drawn; its script (`live.js`) loads it anew,
and says how long nothing has come when that is longer than it should be.
"""

import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from vitlab.report.wording import duration

State = Literal["ready", "training", "testing", "stopped"]

# Seconds after which to doubt that a run goes on: while it trains, so many times what lies between two pages, and where
# nothing is said in between, as while images are prepared or a model is tried out, long enough for that.
_DOUBT_TIMES, _DOUBT_LEAST, _DOUBT_SILENT = 4, 60.0, 600.0


@dataclass(frozen=True)
class Live:
    """A run that is about to begin, trains, is tried out on the test images, or has stopped before its end."""

    run: Path
    state: State
    drawn: datetime
    again: float = 2.0  # seconds until the page is drawn anew
    epoch: int | None = None
    epochs: int | None = None
    share: float | None = None  # of the training
    left: float | None = None  # seconds of training
    said: str = ""  # why it has stopped

    @property
    def title(self) -> str:
        """For the browser's tab."""
        if self.state == "training" and self.share is not None:
            return f"{self.share:.0%}"
        return {"ready": "beginning", "training": "training", "testing": "testing", "stopped": "stopped"}[self.state]

    @property
    def heading(self) -> str:
        """The state in a few words."""
        if self.state == "training" and self.epoch is not None:
            return f"Training, epoch {self.epoch} of {self.epochs}"
        return {
            "ready": "About to train",
            "training": "Training",
            "testing": "Trained; being tried on the test images",
            "stopped": "Not finished",
        }[self.state]

    @property
    def rest(self) -> str:
        """What follows the heading."""
        if self.state == "training" and self.left is not None:
            return f"about {duration(self.left) if self.left > 10 else f'{self.left:.0f} s'} left"
        return {"ready": "images are being prepared", "stopped": self.said}.get(self.state, "")

    @property
    def moment(self) -> str:
        """When the page was drawn, as people write it, in the time of the machine."""
        when = self.drawn
        return f"{when.day} {when:%B %Y, %H:%M:%S} {when.tzname() or ''}".rstrip()

    @property
    def stamp(self) -> float:
        """The same in milliseconds, for the script."""
        return round(1000 * self.drawn.timestamp())

    @property
    def doubt(self) -> float:
        """Seconds after which something else than this page would be expected."""
        if self.state == "training":
            return max(_DOUBT_TIMES * self.again, _DOUBT_LEAST)
        return _DOUBT_SILENT

    @property
    def resume(self) -> str:
        """The command that goes on with the run, wherever it was broken off."""
        return f"vitlab train --resume {shlex.quote(str(self.run))}"
