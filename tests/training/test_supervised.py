"""The supervised loss against its formula."""

import torch

from vitlab.training.objectives.supervised import Supervised


class _Fixed(torch.nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, images):
        return self.logits


def test_training_loss_is_smoothed_cross_entropy():
    logits, labels, s = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 0]), 0.1
    outcome = Supervised(s)(_Fixed(logits).train(), torch.empty(6), labels)
    target = torch.full((6, 5), s / 5)
    target[range(6), labels] += 1 - s
    expected = -(target * (logits.exp() / logits.exp().sum(1, keepdim=True)).log()).sum(1).mean()
    torch.testing.assert_close(outcome.loss, expected)
    assert int(outcome.correct) == sum(
        int(row.argmax()) == int(label) for row, label in zip(logits, labels, strict=True)
    )
    assert outcome.images == 6


def test_evaluation_loss_is_plain_and_soft_targets_are_taken():
    logits, labels = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
    plain = Supervised(0.1)(_Fixed(logits).eval(), torch.empty(6), labels)
    expected = -logits.log_softmax(1)[range(6), labels].mean()
    torch.testing.assert_close(plain.loss, expected)
    soft = Supervised(0.0)(_Fixed(logits).train(), torch.empty(6), torch.nn.functional.one_hot(labels, 5).float())
    torch.testing.assert_close(soft.loss, expected)
    assert int(soft.correct) == int(plain.correct)
