"""Every attention core: the map tells what the core does.

Queries, keys, values and bias are caught on their way through a whole model, as the recorder of explanations does.
"""

import pytest
import torch
from torch.testing import assert_close

from vitlab.models.resnet import ResNet
from vitlab.parts.attention import CoreModule

from .cases import CASES, built, images

ATTENDING = [name for name, case in CASES.items() if not isinstance(case, ResNet)]

# Mixed keys have no weights that add up: the map is softmax over mixtures times what they are mixtures of.
SUMS_TO_ANYTHING = {"linformer"}


def _caught(name):
    """(core, its arguments, its output) for every core that one forward pass of the model goes through."""
    model, found = built(name), []
    cores = [module for module in model.modules() if isinstance(module, CoreModule)]
    hooks = [core.register_forward_hook(lambda core, args, out: found.append((core, args, out))) for core in cores]
    with torch.no_grad():
        model(images(name))
    for hook in hooks:
        hook.remove()
    assert [id(core) for core, _, _ in found] == [id(core) for core in cores]
    assert cores
    return found


@pytest.mark.parametrize("name", ATTENDING)
def test_the_map_times_the_values_is_the_output(name):
    for core, (q, k, v, *rest), out in _caught(name):
        with torch.no_grad():
            weights = core.map(q, k, *rest)
        assert weights.shape == (*q.shape[:3], k.shape[2])
        assert_close(weights @ v, out, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ATTENDING)
def test_the_weights_of_a_query_are_shares_of_one(name):
    for core, (q, k, _, *rest), _ in _caught(name):
        if type(core).__name__.strip("_").lower() in SUMS_TO_ANYTHING:
            continue
        with torch.no_grad():
            weights = core.map(q, k, *rest)
        assert float(weights.min()) >= 0
        assert_close(weights.sum(dim=3), torch.ones(q.shape[:3]))
