"""Every model: written to a bundle and read back, it gives the same logits to the last bit."""

import json

import pytest
import torch

from vitlab.bundle import Bundle, Card, load
from vitlab.data.preprocess import Preprocess

from .cases import CASES, built, images


@pytest.mark.parametrize("name", CASES)
def test_a_bundle_gives_back_the_same_model(name, tmp_path):
    case, model, x = CASES[name], built(name), images(name)
    preprocess = Preprocess(
        size=case.image, channels=case.channels, mean=(0.5,) * case.channels, std=(0.25,) * case.channels
    )
    Bundle(model, Card(blueprint=case, preprocess=preprocess, classes=tuple("abcde"))).save(tmp_path / "bundle")
    torch.manual_seed(99)  # other first values than those that were saved
    back = load(tmp_path / "bundle")
    assert back.card.blueprint == back.model.blueprint == case
    assert json.loads((tmp_path / "bundle" / "model.json").read_text())["blueprint"]["kind"] == case.kind
    with torch.no_grad():
        assert torch.equal(back.model(x), model(x))
