"""Which heads matter: each one silenced in turn, and the accuracy counted again.

A silenced head gives zeros where it gave a mixture of values. The drop is paired image by image, so that its interval
is that of what changed: half the width is 1.96 sqrt(var(right before - right after) / n).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from vitlab.explain.methods.method import Images, Targets
from vitlab.explain.record import Place, attention_layers, evaluating
from vitlab.models.blueprint import Model

_BATCH = 64


class Drop(BaseModel):
    """Accuracy lost without one head, with half the width of its 95 % interval."""

    model_config = ConfigDict(frozen=True)

    layer: int
    head: int
    drop: float
    half: float


def drops(model: Model, images: Images, truth: Targets) -> tuple[float, tuple[Drop, ...]]:
    """The accuracy of the whole model on these images, and what each head adds to it."""
    whole = _right(model, images, truth)
    found = []
    for place in attention_layers(model):
        for head in range(_heads(model, place, images[:1])):
            with silenced(place, head):
                lost = whole - _right(model, images, truth)
            half = 1.96 * float(lost.std(correction=0)) / math.sqrt(len(lost))
            found.append(Drop(layer=place.layer, head=head, drop=float(lost.mean()), half=half))
    return float(whole.mean()), tuple(found)


@contextmanager
def silenced(place: Place, head: int) -> Iterator[None]:
    """One head gives zeros; put back afterwards."""

    def silence(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        kept = torch.ones(output.shape[1], 1, 1, dtype=output.dtype, device=output.device)
        kept[head] = 0
        return output * kept

    handle = place.core.register_forward_hook(silence)
    try:
        yield
    finally:
        handle.remove()


@torch.no_grad()
def _right(model: Model, images: Images, truth: Targets) -> Tensor:
    with evaluating(model):
        parts = [model(part).argmax(dim=1) for part in images.split(_BATCH)]
    return (torch.cat(parts) == truth).double()


@torch.no_grad()
def _heads(model: Model, place: Place, image: Images) -> int:
    counted: list[int] = []
    handle = place.core.register_forward_hook(lambda _, __, output: counted.append(output.shape[1]))
    try:
        with evaluating(model):
            model(image)
    finally:
        handle.remove()
    return counted[0]
