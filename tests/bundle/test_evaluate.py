"""What is counted on a split, against the counting written out."""

from collections.abc import Callable

import pytest
import torch

from vitlab.analysis.accuracy import evaluate
from vitlab.bundle import Bundle
from vitlab.data.memory import Pictures


def test_mirrored_answers_are_the_mean_of_both_and_said(made: Callable[..., Bundle]) -> None:
    bundle, generator = made(), torch.Generator().manual_seed(0)
    images = torch.randint(256, (20, 3, 8, 12), dtype=torch.uint8, generator=generator)
    labels = torch.randint(len(bundle.classes), (20,), generator=generator)
    pictures = Pictures(images, labels, tuple(map(str, range(20))))

    found = evaluate(bundle, pictures, "test", mirrored=True)
    mean = (bundle.probabilities(images) + bundle.probabilities(images.flip(3))) / 2
    assert found.accuracy == pytest.approx((mean.argmax(1) == labels).double().mean().item())
    assert found.loss == pytest.approx(-mean[range(20), labels].log().mean().item(), rel=1e-5)
    assert "mirror images averaged" in str(found)
    assert "mirror" not in str(evaluate(bundle, pictures, "test"))
