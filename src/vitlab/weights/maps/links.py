"""Tensors of theirs and ours, and how they become each other: every link is read in both directions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

State = dict[str, Tensor]
Turn = Callable[[list[Tensor]], list[Tensor]]


class Form(NamedTuple):
    """How one tensor is laid out there (`inward` makes ours of it) and here (`outward` makes theirs)."""

    inward: Callable[[Tensor], Tensor]
    outward: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Link:
    """Some of their tensors that hold the same numbers as some of ours."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    inward: Turn
    outward: Turn


SAME = Form(lambda x: x, lambda x: x)
BATCHED = Form(lambda x: x.squeeze(0), lambda x: x.unsqueeze(0))  # learned vectors with a batch of one before them
TURNED = Form(lambda x: x.T, lambda x: x.T)  # a matrix that is multiplied from the other side
ROWS_COLUMNS_IN_OUT = Form(lambda x: x.permute(3, 2, 0, 1), lambda x: x.permute(2, 3, 1, 0))


def one(ours: str, theirs: str, form: Form = SAME) -> Link:
    """One tensor there is one here."""
    return Link((ours,), (theirs,), lambda x: [form.inward(x[0])], lambda x: [form.outward(x[0])])


def joined(ours: str, theirs: Sequence[str], sizes: Sequence[int], form: Form = SAME) -> Link:
    """Several tensors there lie behind one another in one of ours, with so many rows each."""
    return Link(
        (ours,),
        tuple(theirs),
        lambda parts: [torch.cat([form.inward(part) for part in parts])],
        lambda whole: [form.outward(part) for part in whole[0].split(list(sizes))],
    )


def to_ours(links: Iterable[Link], state: Mapping[str, Tensor]) -> State:
    """Their tensors under our names."""
    found: State = {}
    for link in links:
        found.update(zip(link.ours, link.inward([state[name] for name in link.theirs]), strict=True))
    return found


def to_theirs(links: Iterable[Link], state: Mapping[str, Tensor]) -> State:
    """Our tensors under their names; of tensors on the meta device, the shapes that a file of theirs has to have."""
    found: State = {}
    for link in links:
        found.update(zip(link.theirs, link.outward([state[name] for name in link.ours]), strict=True))
    return found
