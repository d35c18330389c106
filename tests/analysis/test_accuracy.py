"""Figures of an evaluation against the counting written out, image by image."""

import pytest
import torch

from vitlab.analysis.accuracy import calibration_error, evaluate
from vitlab.analysis.interval import wilson
from vitlab.bundle import Bundle, Card
from vitlab.data.memory import Pictures
from vitlab.data.preprocess import Preprocess
from vitlab.models.plain import Plain
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.patch import Conv

CLASSES = ("ant", "bee", "cat")


@pytest.fixture(scope="module")
def judged() -> tuple[Bundle, Pictures, torch.Tensor]:
    """A model of random weights, sixty pictures, and its probabilities for them."""
    torch.manual_seed(0)
    described = Plain(
        image=(4, 4),
        channels=1,
        classes=3,
        width=8,
        depth=1,
        patch=Conv(size=2),
        block=PreNorm(attention=SelfAttention(heads=2)),
    )
    model = described.build().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    preprocess = Preprocess(size=(4, 4), channels=1, mean=(0.5,), std=(0.25,))
    bundle = Bundle(model, Card(blueprint=described, preprocess=preprocess, classes=CLASSES))
    images, labels = torch.randint(256, (60, 1, 4, 4), dtype=torch.uint8), torch.randint(3, (60,))
    with torch.no_grad():
        probabilities = model((images.float() / 255 - 0.5) / 0.25).softmax(1)
    return bundle, Pictures(images, labels, tuple(f"picture {i}" for i in range(60))), probabilities


def test_every_figure_is_that_of_a_count_by_hand(judged: tuple[Bundle, Pictures, torch.Tensor]) -> None:
    bundle, pictures, probabilities = judged
    found = evaluate(bundle, pictures, "val")
    confusion = [[0] * 3 for _ in CLASSES]
    for row, label in zip(probabilities, pictures.labels.tolist(), strict=True):
        confusion[label][int(row.argmax())] += 1
    right = sum(confusion[i][i] for i in range(3))
    assert 0 < right < 60
    assert [list(row) for row in found.confusion] == confusion
    assert (found.images, found.errors, found.accuracy) == (60, 60 - right, pytest.approx(right / 60))
    assert found.interval == wilson(right, 60)
    assert found.loss == pytest.approx(-float(probabilities[range(60), pictures.labels].log().mean()), rel=1e-5)


def test_mistakes_come_with_the_surest_first(judged: tuple[Bundle, Pictures, torch.Tensor]) -> None:
    bundle, pictures, probabilities = judged
    found = evaluate(bundle, pictures, "val").mistakes
    assert len(found) == min(24, int((probabilities.argmax(1) != pictures.labels).sum()))
    assert [m.probability for m in found] == sorted((m.probability for m in found), reverse=True)
    for mistake in found:
        i = int(mistake.where.removeprefix("picture "))
        assert mistake.predicted == int(probabilities[i].argmax()) != mistake.truth == int(pictures.labels[i])
        assert mistake.probability == pytest.approx(float(probabilities[i].max()), abs=1e-6)
        assert mistake.truth_probability == pytest.approx(float(probabilities[i, mistake.truth]), abs=1e-6)


def test_calibration_error_is_the_gap_of_each_bin_weighed_by_its_images() -> None:
    sure = torch.tensor([0.05, 0.31, 0.33, 0.34, 0.95, 1.0])
    right = torch.tensor([False, True, False, True, True, True])
    # three bins, each open below: (0, 1/3] has three images, (1/3, 2/3] one, (2/3, 1] two
    gaps = [3 * abs(1 / 3 - (0.05 + 0.31 + 0.33) / 3), 1 * abs(1 - 0.34), 2 * abs(1 - (0.95 + 1.0) / 2)]
    assert calibration_error(sure, right, bins=3) == pytest.approx(sum(gaps) / 6, abs=1e-6)
    assert calibration_error(torch.tensor([0.0]), torch.tensor([False])) == 0
