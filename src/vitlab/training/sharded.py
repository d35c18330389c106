"""Tensors that are spread over processes (FSDP2) and those that are not, handled alike.

A sharded tensor is put together by all its processes at once: whoever calls `whole` calls it in every one of them.
"""

from typing import Any

import torch
from torch import Tensor


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, on the CPU."""
    together: Any = getattr(tensor, "full_tensor", None)
    return (tensor if together is None else together()).detach().cpu().contiguous()


@torch.no_grad()
def fill(tensor: Tensor, value: Tensor) -> None:
    """Give a tensor these values, whole ones; a sharded one takes its share of them."""
    if hasattr(tensor, "full_tensor"):
        from torch.distributed.tensor import distribute_tensor

        spread: Any = tensor
        value = distribute_tensor(value.to(tensor.device), spread.device_mesh, spread.placements, src_data_rank=None)
    tensor.copy_(value)


def local(tensor: Tensor) -> Tensor:
    """What this process holds of a tensor; changing it changes the tensor."""
    mine: Any = getattr(tensor, "to_local", None)
    return tensor.detach() if mine is None else mine().detach()
