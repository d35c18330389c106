"""Whatever a picture comes as, one by one or in hundreds, the prediction is the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.bundle.conftest import CLASSES
from vitlab.bundle import Bundle, Prediction
from vitlab.errors import UserError

Made = Callable[..., Bundle]


def _noise(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (count, *shape), dtype=np.uint8)


def _naive(bundle: Bundle, image: np.ndarray) -> np.ndarray:
    """(x / 255 - mean) / std by hand, the model, and softmax by hand."""
    planes = np.moveaxis(image, -1, 0).astype(np.float64) / 255
    card = bundle.card.preprocess
    planes = (planes - np.reshape(card.mean, (-1, 1, 1))) / np.reshape(card.std, (-1, 1, 1))
    with torch.no_grad():
        logits = bundle.model(torch.tensor(planes[None], dtype=torch.float32))[0].double().numpy()
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _close(one: list[Prediction], other: list[Prediction]) -> bool:
    return len(one) == len(other) and all(
        a.label == b.label and a.probabilities == pytest.approx(b.probabilities, abs=1e-6)
        for a, b in zip(one, other, strict=True)
    )


def test_probabilities_belong_to_the_classes_of_the_card(made: Made) -> None:
    bundle = made()
    for image in _noise(5, 8, 12, 3):
        (found,) = bundle.predict(image)
        wanted = dict(zip(CLASSES, _naive(bundle, image), strict=True))
        assert found.probabilities == pytest.approx(wanted, abs=1e-5)
        assert list(found.probabilities.values()) == sorted(found.probabilities.values(), reverse=True)
        assert sum(found.probabilities.values()) == pytest.approx(1, abs=1e-6)
        assert found.label == max(wanted, key=lambda name: wanted[name])
        assert found.probability == found.probabilities[found.label]
        assert str(found) == f"{found.label} ({100 * found.probability:.1f}%)"
    rows = bundle.probabilities(torch.from_numpy(np.moveaxis(_noise(2, 8, 12, 3), -1, 1).copy()))
    assert rows.shape == (2, 5)
    assert rows[0].tolist() == pytest.approx(_naive(bundle, _noise(2, 8, 12, 3)[0]).tolist(), abs=1e-5)


def test_every_way_to_hand_an_image_over(made: Made, tmp_path: Path) -> None:
    bundle, arrays = made(), _noise(3, 8, 12, 3)
    pictures = [Image.fromarray(array) for array in arrays]
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for picture, path in zip(pictures, paths, strict=True):
        picture.save(path)
    wanted = bundle.predict(arrays)
    assert len(wanted) == 3
    for given in (list(arrays), tuple(pictures), paths, [str(path) for path in paths], iter(arrays)):
        assert _close(bundle.predict(given), wanted)
    assert _close(bundle.predict(image for image in [paths[0], pictures[1], arrays[2]]), wanted)
    for one in (arrays[0], pictures[0], paths[0], str(paths[0])):
        assert _close(bundle.predict(one), wanted[:1])
    assert bundle.predict([]) == []


def test_grey_arrays(made: Made) -> None:
    grey, bundle = _noise(1, 8, 12)[0], made(channels=1)
    wanted = bundle.predict(Image.fromarray(grey))
    assert bundle.predict(grey) == wanted
    assert bundle.predict(grey[..., None]) == wanted
    assert bundle.predict(np.stack([grey] * 3, axis=-1)) == wanted
    coloured = made(channels=3)
    assert coloured.predict(grey) == coloured.predict(np.stack([grey] * 3, axis=-1))


@pytest.mark.parametrize("count", [64, 65, 150])
def test_batches_equal_one_by_one(made: Made, count: int) -> None:
    bundle, images = made(), _noise(count, 8, 12, 3)
    assert _close(bundle.predict(images), [bundle.predict(image)[0] for image in images])


def test_twelve_channels(made: Made) -> None:
    bundle, image = made(channels=12), _noise(1, 8, 12, 12)[0]
    (found,) = bundle.predict(image)
    assert found.probabilities == pytest.approx(dict(zip(CLASSES, _naive(bundle, image), strict=True)), abs=1e-5)
    with pytest.raises(UserError, match="the model takes 12 channels, the image has 3"):
        bundle.predict(image[..., :3])
    with pytest.raises(UserError, match=r"the model takes 12 channels: give an array of shape \(rows, columns, 12\)"):
        bundle.predict(Image.new("RGB", (12, 8)))
    with pytest.raises(UserError, match="the model takes 3 channels, the image has 12"):
        made(channels=3).predict(image)


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (np.zeros((8, 12, 3), np.float32), r"an image array wants uint8 .* not float32 of \(8, 12, 3\)"),
        (np.zeros((0, 12, 3), np.uint8), r"an image array wants uint8 .* not uint8 of \(0, 12, 3\)"),
        (torch.zeros(8, 12, 3), "an image is a path, a PIL image or a uint8 array, not a Tensor"),
        ([3], "an image is a path, a PIL image or a uint8 array, not a int"),
        ("nowhere.png", "cannot read nowhere.png: No such file or directory"),
    ],
)
def test_what_is_no_image(made: Made, image: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        made().predict(image)  # type: ignore[arg-type]
