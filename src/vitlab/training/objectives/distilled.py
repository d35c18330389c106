"""Classification with a teacher beside the labels (Hinton et al. 2015; Touvron et al. 2021, section 4)."""

from collections.abc import Callable

from torch import Tensor, nn

from vitlab.models.blueprint import Model
from vitlab.training.distill import Distill
from vitlab.training.objectives.objective import Outcome
from vitlab.training.objectives.supervised import Supervised


class Distilled:
    """(1 - share) of the labels' loss, share of the teacher's.

    A model with two heads, DeiT's, learns labels with the first and the teacher with the second; another learns both
    with its one. In evaluation no teacher is asked, and heads are averaged: the loss is the plain cross-entropy.
    """

    def __init__(self, teacher: Callable[[Tensor], Tensor], distill: Distill, smoothing: float) -> None:
        self.teacher, self.distill, self.labels = teacher, distill, Supervised(smoothing)

    def __call__(self, model: nn.Module, images: Tensor, targets: Tensor) -> Outcome:
        if not model.training:
            return self.labels(model, images, targets)
        assert isinstance(model, Model)
        answers = [logits.float() for logits in model.answers(images)]
        labels = self.labels.loss(answers[0], targets)
        taught = self.distill.loss(answers[-1], self.teacher(images).to(answers[-1]))
        loss = (1 - self.distill.share) * labels + self.distill.share * taught
        together = sum(answers[1:], answers[0]) / len(answers)
        return self.labels.outcome(loss, together, targets)
