"""Muon against torch's own and against singular values; both optimizers as one, and resumed."""

import copy

import pytest
import torch

from tests.models.small import SMALL
from vitlab.errors import UserError
from vitlab.models.registry import blueprint, models
from vitlab.training.optimizers.build import optimizer
from vitlab.training.optimizers.groups import weights
from vitlab.training.optimizers.muon import Muon, orthogonalised
from vitlab.training.recipe import Recipe, recipe

MUON = Recipe(rate=1e-2, optimizer={"kind": "muon", "rate": 0.05, "weight_decay": 0.1})


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 40)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = orthogonalised(matrices)
    for matrix, moved in zip(matrices, found, strict=True):
        u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
        inside = u.T @ moved @ vh.T
        values = inside.diagonal()
        assert 0.6 < float(values.min()) <= float(values.max()) < 1.3
        torch.testing.assert_close(inside, values.diag(), atol=1e-4, rtol=0)


def test_steps_are_those_of_torch():
    """torch multiplies in bfloat16, one matrix after another; ours are stacked by shape."""
    torch.manual_seed(0)
    ours = [torch.nn.Parameter(torch.randn(shape)) for shape in [(24, 8), (8, 24), (24, 8), (16, 16)]]
    theirs = copy.deepcopy(ours)
    steps = [
        Muon(ours, rate=0.1, momentum=0.9, weight_decay=0.2, dtype=torch.bfloat16),
        torch.optim.Muon(theirs, lr=0.1, momentum=0.9, weight_decay=0.2),
    ]
    for _ in range(3):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        for step in steps:
            step.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=0.02, rtol=0)  # three steps of 0.1, products of 8 bits


def test_a_convolution_moves_as_the_matrix_of_its_rows():
    torch.manual_seed(0)
    kernel = torch.nn.Parameter(torch.randn(8, 4, 3, 3))
    matrix = torch.nn.Parameter(kernel.detach().flatten(1).clone())
    kernel.grad = torch.randn_like(kernel)
    matrix.grad = kernel.grad.flatten(1)
    for parameter in (kernel, matrix):
        Muon([parameter], rate=0.1, momentum=0.9, weight_decay=0.0, dtype=torch.float32).step()
    assert torch.equal(kernel.detach().flatten(1), matrix.detach())


def test_hidden_matrices_are_those_of_the_blocks():
    described = blueprint("vit_few_patch2_8").change(
        prefix={"registers": 2}, block__residual="scale", pool="sequence", block__attention__relative="bias"
    )
    model = described.build()
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = weights(model)
    hidden = {names[id(parameter)] for parameter in found.hidden}
    assert hidden == {
        f"blocks.{layer}.{matrix}.weight"
        for layer in range(described.depth)
        for matrix in ("attention.qkv", "attention.proj", "mlp.widen", "mlp.narrow")
    }
    matrices = {names[id(parameter)] for parameter in found.matrices}
    assert matrices == {"patch.proj.weight", "head.weight", "pool.weigh.weight"}


@pytest.mark.parametrize("name", models())
def test_what_sees_pixels_and_what_makes_logits_is_no_hidden_matrix(name):
    described = blueprint(name).change(channels=5, classes=7)
    with torch.device("meta"):
        model = described.build()
    hidden = weights(model).hidden
    assert hidden
    assert not any(len(matrix) == 7 or (matrix.ndim == 4 and matrix.shape[1] == 5) for matrix in hidden)


def _steps(model, chosen, count, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        images = torch.randn(4, model.blueprint.channels, *model.blueprint.image, generator=generator)
        chosen.step(lambda images=images: _backward(model, images))


def _backward(model, images):
    model.zero_grad()
    loss = model(images).square().mean()
    loss.backward()
    return loss.item()


def test_a_resumed_run_goes_on_to_the_bit():
    torch.manual_seed(0)
    model = SMALL.build()
    chosen = optimizer(model, MUON)
    _steps(model, chosen, 3, seed=1)
    state, kept = copy.deepcopy(model.state_dict()), copy.deepcopy(chosen.state_dict())
    _steps(model, chosen, 3, seed=2)

    again = SMALL.build()
    again.load_state_dict(state)
    resumed = optimizer(again, MUON)
    resumed.load_state_dict(kept)
    _steps(again, resumed, 3, seed=2)
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name


def test_the_schedule_multiplies_both_rates():
    model = SMALL.build()
    chosen = optimizer(model, MUON)
    schedule = torch.optim.lr_scheduler.LambdaLR(chosen, lambda step: 0.5**step)
    assert [group["lr"] for group in chosen.param_groups] == [1e-2, 1e-2, 0.05]
    _steps(model, chosen, 1, seed=0)
    schedule.step()
    assert [group["lr"] for part in chosen.parts for group in part.param_groups] == [5e-3, 5e-3, 0.025]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for group in chosen.param_groups:
        group["lr"] = 0.0
    _steps(model, chosen, 1, seed=1)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_model_without_hidden_matrices_is_left_to_adamw():
    assert isinstance(optimizer(torch.nn.Linear(3, 2), MUON), torch.optim.AdamW)


def test_a_wrong_optimizer_is_one_sentence():
    with pytest.raises(UserError, match=r"recipe: optimizer: no optimizer of kind 'moun'; did you mean 'muon'\?"):
        recipe("cifar", {"optimizer": "moun"})
    with pytest.raises(UserError, match=r"optimizer.*momentum wants less than 1"):
        recipe("cifar", {"optimizer": {"kind": "muon", "momentum": 1.0}})
