"""Memory of batches, used again: of a fresh block of megabytes each page costs a fault when it is written to."""

import math
import weakref
from collections import deque
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_IDLE = 4  # blocks that are kept for the next batches


class Blocks:
    """Lends a block as a tensor and takes it back when nothing refers to its memory any more.

    Whoever keeps a tensor, a view of it or a graph that needs it keeps its block: a batch is never written over while
    somebody can still see it, however long that is. Then the next batch gets another block. Blocks are not pinned:
    a GPU that copies from pinned memory goes on reading after the tensor is gone.
    """

    def __init__(self) -> None:
        self.idle = deque[NDArray[np.uint8]](maxlen=_IDLE)

    def empty(self, shape: Sequence[int], kind: torch.dtype) -> Tensor:
        """A tensor on the CPU with anything in it."""
        size = math.prod(shape) * kind.itemsize
        block = self._block(size)
        lent = block[:size]
        # The tensor's storage holds this very view, and nothing else does: where the view ends, the memory is free.
        weakref.finalize(lent, self.idle.append, block).atexit = False
        return torch.from_numpy(lent).view(kind).view(*shape)

    def _block(self, size: int) -> NDArray[np.uint8]:
        """Memory of at least so many bytes; idle blocks that are too small are let go of."""
        while self.idle:
            try:
                block = self.idle.pop()
            except IndexError:  # another thread was quicker
                break
            if block.nbytes >= size:
                return block
        fresh: NDArray[np.uint8] = torch.empty(size, dtype=torch.uint8).numpy()  # aligned; numpy's own is not
        return fresh
