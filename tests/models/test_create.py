"""vitlab.create: sizes, channels, classes; images that are not square; the grid a model is shown."""

import pytest
import torch
from torch.testing import assert_close

import vitlab
from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.parts.position import resample

from .small import SMALL


@pytest.mark.parametrize("size", [12, (12, 12)])
def test_size_channels_and_classes_are_those_asked_for(size):
    model = vitlab.create(SMALL, size=size, channels=4, classes=7)
    described = model.blueprint
    assert (described.image, described.channels, described.classes) == ((12, 12), 4, 7)
    assert model.position.table.vectors.weight.shape == (1 + 36, 96)
    assert model.patch.proj.weight.shape == (96, 4, 2, 2)
    assert model(torch.randn(2, 4, 12, 12)).shape == (2, 7)


def test_nothing_asked_for_changes_nothing():
    assert vitlab.create(SMALL).blueprint == SMALL
    with torch.device("meta"):
        assert vitlab.create("vit_simple_patch8_32").blueprint == vitlab.blueprint("vit_simple_patch8_32")


def test_a_blueprint_does_as_well_as_its_name():
    torch.manual_seed(1)
    by_name = vitlab.create("vit_simple_patch8_32", classes=3)
    torch.manual_seed(1)
    by_blueprint = vitlab.create(vitlab.blueprint("vit_simple_patch8_32"), classes=3)
    assert all(torch.equal(a, b) for a, b in zip(by_name.parameters(), by_blueprint.parameters(), strict=True))


def test_with_no_classes_the_model_hands_on_what_was_pooled():
    model = vitlab.create(SMALL, classes=0).eval()
    images = torch.randn(2, 1, 8, 8)
    assert torch.equal(model(images), model.features(images).pooled)


def test_images_need_not_be_square():
    model = vitlab.create(SMALL, size=(4, 10)).eval()
    images = torch.randn(2, 1, 4, 10)
    features = model.features(images)
    assert features.grid == (2, 5)
    assert features.tokens.shape == (2, 1 + 10, 96)
    # the patch in row 1 and column 3 is token 1 + 1 * 5 + 3: the one that changes most where attention is near uniform
    other = images.clone()
    other[:, :, 2:4, 6:8] += 3
    moved = (model.features(other).tokens - features.tokens).norm(dim=2)
    assert moved.argmax(dim=1).tolist() == [9, 9]


def test_a_model_shown_another_size_equals_one_created_for_it_with_the_table_resampled():
    small, large = vitlab.create(SMALL).eval(), vitlab.create(SMALL, size=(12, 10)).eval()
    torch.nn.init.normal_(small.position.table.vectors.weight)
    state = small.state_dict()
    table = state["position.table.vectors.weight"]
    state["position.table.vectors.weight"] = torch.cat([table[:1], resample(table[1:], (4, 4), (6, 5))])
    large.load_state_dict(state)
    images = torch.randn(2, 1, 12, 10)
    assert_close(small(images), large(images))


def test_an_image_that_does_not_fit_is_refused_when_shown():
    with pytest.raises(UserError, match="2x2 do not divide an image of 9x8"):
        vitlab.create(SMALL)(torch.randn(1, 1, 9, 8))


def test_someone_elses_model_has_a_name_when_registered(monkeypatch):
    monkeypatch.setattr(registry, "_KNOWN", dict(registry._KNOWN))
    vitlab.register("mine", lambda: SMALL.change(width=24))
    assert registry.models("mi*") == ["mine"]
    assert (vitlab.blueprint("mine").name, vitlab.blueprint("mine").width) == ("mine", 24)
