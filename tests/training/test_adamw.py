"""Which parameters decay, and what a step does, against AdamW written out."""

import pytest
import torch

from vitlab.models.plain import Plain
from vitlab.models.registry import blueprint, models
from vitlab.training.optimizers.build import optimizer
from vitlab.training.optimizers.groups import weights
from vitlab.training.recipe import Recipe


@pytest.mark.parametrize("name", ["vit_simple_patch8_32", "vit_few_patch2_8"])
def test_matrices_decay_and_nothing_else(name):
    described = blueprint(name).change(
        prefix={"registers": 2}, block__residual="scale", block__attention__relative="bias", position="factorised"
    )
    model = described.build()
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = optimizer(model, Recipe()).param_groups
    assert [group["weight_decay"] for group in groups] == [0.05, 0.0]
    decayed, spared = ({names[id(p)] for p in group["params"]} for group in groups)
    assert decayed | spared == set(names.values())
    assert not decayed & spared
    assert all(name.endswith(".weight") and "norm" not in name for name in decayed)
    assert {name for name in names.values() if name.endswith("bias") or "norm" in name} <= spared
    assert {"prefix.table.weight", "position.table.rows.weight", "position.table.columns.weight"} <= spared
    assert any(name.endswith("gamma") for name in spared)
    assert any(name.endswith("relative.table.weight") for name in spared)
    assert {"patch.proj.weight", "blocks.0.attention.qkv.weight"} <= decayed


def test_every_preset_has_all_that_learns_in_a_group():
    for name in models():
        with torch.device("meta"):
            described = blueprint(name)
            model = (described.change(depth=1) if isinstance(described, Plain) else described).build()
        assert sum(map(len, weights(model))) == sum(parameter.requires_grad for parameter in model.parameters())


def test_a_step_is_adamw_with_decoupled_decay():
    layer = torch.nn.Linear(3, 2)
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    chosen = optimizer(layer, Recipe(rate=0.1, weight_decay=0.5, betas=(0.9, 0.99)))
    layer(torch.randn(4, 3)).square().sum().backward()
    gradient = {name: p.grad.clone() for name, p in layer.named_parameters()}
    chosen.step()
    for name, decay in (("weight", 0.5), ("bias", 0.0)):
        g = gradient[name]
        moment, square = 0.1 * g / (1 - 0.9), 0.01 * g.square() / (1 - 0.99)
        expected = before[name] * (1 - 0.1 * decay) - 0.1 * moment / (square.sqrt() + 1e-8)
        torch.testing.assert_close(dict(layer.named_parameters())[name].detach(), expected, atol=1e-5, rtol=1e-5)
