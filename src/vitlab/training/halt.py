"""Ctrl-C and the scheduler's SIGTERM while a model trains: noticed at once, heeded at the end of a step.

Between two steps everything fits together and can be kept. A second Ctrl-C does not wait.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Halted(Exception):  # noqa: N818  no error
    """The run was asked to stop, and has kept where it stands."""


class Halt:
    """Remembers the first signal that asks a run to stop."""

    def __init__(self) -> None:
        self.asked: int | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """What the signals did before, they do again afterwards. Only a main thread can listen."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in _CODES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def listen(self) -> None:
        """From now on; Lightning has set handlers of its own by then, one of which talks to other processes."""
        if threading.current_thread() is threading.main_thread():
            for number in _CODES:
                signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.asked == signal.SIGINT == number:
            raise KeyboardInterrupt
        self.asked = number

    @property
    def code(self) -> int:
        """With which code a process ends that was asked to."""
        return _CODES[signal.Signals(self.asked or signal.SIGINT)]
