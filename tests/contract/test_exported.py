"""Every way to put parts together: torch.export sees the whole graph and the graph computes the same."""

import pytest
import torch
from torch.testing import assert_close

from .cases import DISTINCT, built, images


@pytest.mark.parametrize("name", DISTINCT)
def test_the_exported_graph_equals_the_model(name):
    model = built(name)
    exported = torch.export.export(model, (images(name),)).module()
    x = images(name)  # others than those traced with
    with torch.no_grad():
        assert_close(exported(x), model(x), rtol=1e-5, atol=1e-5)
