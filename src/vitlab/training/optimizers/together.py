"""Several optimizers as one, each with its own parameters: what a trainer clips, accumulates, schedules and saves."""

from collections.abc import Callable, Sequence
from typing import Any

import torch


class Together(torch.optim.Optimizer):
    """Steps every part; groups and state are shared with the parts, so that one state dict holds all of them."""

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        self.parts = tuple(parts)
        super().__init__([group for part in parts for group in part.param_groups], {})
        self._share()

    def _share(self) -> None:
        first = 0
        for part in self.parts:
            count = len(part.param_groups)
            part.param_groups = self.param_groups[first : first + count]
            part.state = self.state
            first += count

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Called when a state dict is loaded, which makes new groups and a new state."""
        super().__setstate__(state)
        self._share()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss
