"""Classification: cross-entropy with the labels, smoothed."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from vitlab.training.objectives.objective import Outcome


class Supervised:
    """Cross-entropy of logits with labels, or with rows of probabilities where labels were mixed.

    Label smoothing by s (Szegedy et al. 2016): the target is (1 - s) of the label and s spread over all classes. It is
    part of training alone: in evaluation the loss is the plain cross-entropy.
    """

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing

    def __call__(self, model: nn.Module, images: Tensor, targets: Tensor) -> Outcome:
        logits = model(images)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        loss = self.loss(logits, targets) if model.training else functional.cross_entropy(logits, targets)
        return self.outcome(loss, logits, targets)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """What is minimised."""
        return functional.cross_entropy(logits, targets, label_smoothing=self.smoothing)

    @staticmethod
    def outcome(loss: Tensor, logits: Tensor, targets: Tensor) -> Outcome:
        """A loss beside how many of the logits were right."""
        truth = targets if targets.ndim == 1 else targets.argmax(dim=1)
        return Outcome(loss, (logits.detach().argmax(dim=1) == truth).sum(), len(targets))
