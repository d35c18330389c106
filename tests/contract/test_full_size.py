"""Every registered model at its own size, on the meta device: described in full, and nothing allocated."""

import pytest
import torch

from vitlab.models.plain import Plain
from vitlab.models.registry import blueprint, models

from .cases import grid, last_width
from .miniature import image_of, miniature


@pytest.mark.parametrize("name", models())
def test_a_model_of_full_size_takes_its_images_and_gives_its_classes(name):
    described = blueprint(name)
    with torch.device("meta"), torch.no_grad():
        model = described.build()
        logits = model(torch.empty(2, described.channels, *described.image))
    assert logits.shape == (2, described.classes or last_width(described))  # a model without classes gives its features
    assert {tensor.device.type for tensor in (*model.parameters(), *model.buffers(), logits)} == {"meta"}


@pytest.mark.parametrize("name", models())
def test_its_miniature_has_the_same_parts(name):
    described, small = blueprint(name), miniature(blueprint(name))
    changed = {field for field in type(described).model_fields if getattr(described, field) != getattr(small, field)}
    assert changed <= {"width", "depth", "depths", "image", "classes"}
    assert grid(small) == (4, 4)
    if isinstance(described, Plain):
        assert small.image == image_of(described.patch, (4, 4))
