"""What each layer knows: classes read from its tokens by a linear classifier and by nearest neighbours.

From each layer one vector is read: the class token where the model reads that, else the mean of the patches. The linear
probe is logistic regression on standardised vectors; the neighbours are the ten most alike by cosine, each with one
vote. Both learn from training images and are counted on held-out ones (Alain and Bengio 2016; Raghu et al. 2021).
"""

import warnings
from collections.abc import Iterable

import torch
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch.nn import functional

from vitlab.explain.methods.method import Images, Targets
from vitlab.explain.record import Recording, Seen, recording
from vitlab.models.blueprint import Model

NEIGHBOURS = 10


class Probe(BaseModel):
    """How often the class is read from one layer, on held-out images."""

    model_config = ConfigDict(frozen=True)

    layer: int
    linear: float
    neighbours: float


Vectors = list[Float[Tensor, "count D"]]


def vectors(model: Model, batches: Iterable[Images]) -> Vectors:
    """The vector of each image at each layer, after its block."""
    found: dict[int, list[Tensor]] = {}
    with recording(model, tokens=True) as seen, torch.no_grad():
        for batch in batches:
            model(batch)
            for layer in seen:
                found.setdefault(layer.place.layer, []).append(vector(layer, seen).float().cpu())
    return [torch.cat(parts) for _, parts in sorted(found.items())]


def vector(layer: Seen, seen: Recording) -> Float[Tensor, "B D"]:
    """The class token where the head of the model reads it alone, else the mean of the patches."""
    assert layer.tokens is not None, "recorded without tokens"
    if layer.prefix and bool((seen.reading[:, 0] == 1).all()):
        return layer.tokens[:, 0]
    return layer.tokens[:, layer.prefix :].mean(dim=1)


def probes(known: Vectors, labels: Targets, held: Vectors, truth: Targets) -> tuple[Probe, ...]:
    """Each layer's vectors of training images and of held-out ones."""
    return tuple(
        Probe(layer=layer, linear=linear(*each, labels, truth), neighbours=neighbours(*each, labels, truth))
        for layer, each in enumerate(zip(known, held, strict=True))
    )


def linear(known: Float[Tensor, "count D"], held: Float[Tensor, "held D"], labels: Targets, truth: Targets) -> float:
    """The accuracy of logistic regression on standardised vectors."""
    from sklearn.linear_model import LogisticRegression

    mean, spread = known.mean(dim=0), known.std(dim=0).clamp_min(1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a hundred steps are not the very end
        fitted = LogisticRegression(C=0.1, max_iter=100).fit(((known - mean) / spread).numpy(), labels.numpy())
    found = torch.from_numpy(fitted.predict(((held - mean) / spread).numpy()))
    return float((found == truth).double().mean())


def neighbours(
    known: Float[Tensor, "count D"], held: Float[Tensor, "held D"], labels: Targets, truth: Targets
) -> float:
    """The accuracy of a vote of the vectors most alike."""
    alike = functional.normalize(held, dim=1) @ functional.normalize(known, dim=1).T
    nearest = alike.topk(min(NEIGHBOURS, len(known)), dim=1).indices
    votes = functional.one_hot(labels[nearest], int(labels.max()) + 1).sum(dim=1)
    return float((votes.argmax(dim=1) == truth).double().mean())
