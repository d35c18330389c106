"""Which images of a split to look at: some of each kind of answer to show, some drawn by lot to count on."""

import torch
from torch import Tensor

from vitlab.bundle import Bundle
from vitlab.data.feed.feed import Feed
from vitlab.data.memory import Pictures
from vitlab.data.preprocess import Preprocess

_BATCH = 256


def right_and_wrong(bundle: Bundle, pictures: Feed, count: int) -> list[int]:
    """Positions of `count` images: half of them wrong where there are so many, the surest first, then right ones."""
    found = [(bundle.probabilities(images), positions) for images, positions in pictures.batches(_BATCH)]
    positions = torch.cat([each for _, each in found])
    sure, predicted = torch.cat([each for each, _ in found]).max(dim=1)
    labels = pictures.labels[positions]
    right = predicted == labels
    wrong = [int(i) for i in sure.argsort(descending=True, stable=True) if not right[i]][: (count + 1) // 2]
    return [int(positions[i]) for i in wrong + _spread(labels, right, count - len(wrong))]


def sample(pictures: Feed, most: int, preprocess: Preprocess) -> Pictures:
    """At most so many pictures, drawn by lot, the same ones each time, fitted to the model."""
    chosen = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(0))[:most].sort().values.tolist()
    images, taken = [], []
    for i in chosen:
        picture, position = pictures.picture(i, "")
        fits = picture.shape[:2] == preprocess.size
        images.append(pictures.image(i) if fits else preprocess.fit(picture))
        taken.append(position)
    return Pictures(torch.stack(images), pictures.labels[taken], tuple(pictures.keys[i] for i in taken))


def _spread(labels: Tensor, right: Tensor, count: int) -> list[int]:
    """The first right ones, a class at a time, so that few of them already show different classes."""
    by_class: dict[int, list[int]] = {}
    for i in right.nonzero().flatten().tolist():
        by_class.setdefault(int(labels[i]), []).append(i)
    turns = [(turn, label, i) for label, found in by_class.items() for turn, i in enumerate(found)]
    return [i for _, _, i in sorted(turns)[:count]]
