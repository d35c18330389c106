"""Which test images to show: the surest mistakes, and answers that were right, spread over the classes."""

import torch

from vitlab.bundle import Bundle
from vitlab.data.memory import Pictures

_BATCH = 256


def right_and_wrong(bundle: Bundle, pictures: Pictures, count: int) -> list[int]:
    """Positions of `count` images: half of them wrong where there are so many, the surest first, then right ones."""
    probabilities = torch.cat([bundle.probabilities(images) for images in pictures.images.split(_BATCH)])
    sure, predicted = probabilities.max(dim=1)
    right = predicted == pictures.labels
    wrong = [int(i) for i in sure.argsort(descending=True, stable=True) if not right[i]][: (count + 1) // 2]
    return wrong + _spread(pictures.labels, right, count - len(wrong))


def _spread(labels: torch.Tensor, right: torch.Tensor, count: int) -> list[int]:
    """The first right ones, a class at a time, so that few of them already show different classes."""
    by_class: dict[int, list[int]] = {}
    for i in right.nonzero().flatten().tolist():
        by_class.setdefault(int(labels[i]), []).append(i)
    turns = [(turn, label, i) for label, found in by_class.items() for turn, i in enumerate(found)]
    return [i for _, _, i in sorted(turns)[:count]]
