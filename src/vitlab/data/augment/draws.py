"""Random numbers for one batch: a generator for each step, so that it draws the same wherever it is taken."""

from typing import NamedTuple

import torch

from vitlab.data.order import generator


class Draws(NamedTuple):
    """Of the batch with this number, counted over the whole run; its first `taken` steps are taken picture by picture,
    the others by the whole batch on the device."""

    seed: int
    batch: int
    taken: int = 0

    def generator(self, step: int) -> torch.Generator:
        """The same for this step of this batch, after a resume too."""
        return generator("variation" if step == 0 else f"variation {step}", self.seed, self.batch)
