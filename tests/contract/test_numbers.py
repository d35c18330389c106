"""Every model: shapes, gradients, images that do not see each other, precisions."""

import copy

import pytest
import torch
from torch.testing import assert_close

from vitlab.models.plain import Plain

from .cases import CASES, built, grid, images, last_width

each_model = pytest.mark.parametrize("name", CASES)

# Parameters that cannot matter, and why.
FLAT = {"pool.weigh.bias": "added to every score alike, and softmax forgets it"}


@each_model
def test_logits_and_features_have_the_shapes_described(name):
    case, model, x = CASES[name], built(name), images(name)
    rows, columns = grid(case)
    before, vectors = (case.prefix.count, case.pool.vectors) if isinstance(case, Plain) else (0, 1)
    features = model.features(x)
    assert model(x).shape == (3, 5)
    assert features.grid == (rows, columns)
    assert features.tokens.shape == (3, before + rows * columns, last_width(case))
    assert features.pooled.shape == (3, vectors * last_width(case))


@each_model
def test_the_gradient_reaches_every_parameter_that_learns_and_is_finite(name):
    model = copy.deepcopy(built(name)).double()  # so that noise is not taken for a gradient
    (model(images(name).double()) * torch.randn(3, 5).double()).sum().backward()
    learning = {which: parameter for which, parameter in model.named_parameters() if parameter.requires_grad}
    missing = [which for which, parameter in learning.items() if parameter.grad is None]
    assert missing == []
    largest = {which: float(parameter.grad.abs().max()) for which, parameter in learning.items()}
    assert all(value < float("inf") for value in largest.values())  # false for NaN too
    assert [which for which, value in largest.items() if value < 1e-10] == [which for which in largest if which in FLAT]


@each_model
def test_its_layers_hold_every_weight_once(name):
    model = built(name)
    held = [id(p) for modules in model.layers for module in modules for p in module.parameters()]
    assert sorted(held) == sorted(id(parameter) for parameter in model.parameters())
    assert len(model.layers.blocks) == (case.depth if isinstance(case := CASES[name], Plain) else sum(case.depths))


@each_model
def test_the_answers_of_its_heads_average_to_its_logits(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        assert_close(torch.stack(model.answers(x)).mean(dim=0), model(x))


@each_model
def test_images_of_a_batch_do_not_see_each_other(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        together = model(x)
        x[1:] = 5 * torch.randn_like(x[1:])
        assert_close(model(x)[0], together[0])
        assert not torch.allclose(model(x)[1:], together[1:])


@each_model
def test_evaluation_is_deterministic(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        assert torch.equal(model(x), model(x))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if getattr(case, "dropout", 0)])
def test_training_with_dropout_is_not(name):
    model, x = copy.deepcopy(built(name)).train(), images(name)
    assert not torch.equal(model(x), model(x))


@each_model
def test_float64_agrees_with_float32(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        precise = copy.deepcopy(model).double()(x.double())
        assert precise.dtype == torch.float64
        size = max(1.0, float(precise.abs().max()))  # nothing holds the logits of a CNN with such weights near one
        assert_close(model(x).double(), precise, rtol=1e-4, atol=1e-4 * size)


@each_model
def test_bfloat16_autocast_is_finite_and_near_float32(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        exact = model(x)
        with torch.autocast("cpu", torch.bfloat16):
            coarse = model(x).float()
    assert coarse.isfinite().all()
    # bfloat16 keeps 8 bits: some hundredths of the logits' size after two layers
    assert float((coarse - exact).abs().max()) < 0.1 * float(exact.abs().max())


@each_model
def test_the_same_blueprint_has_the_same_parameters_wherever_it_is_built(name):
    with torch.device("meta"):
        abstract = CASES[name].build()
    shapes = {key: tensor.shape for key, tensor in built(name).state_dict().items()}
    assert {key: tensor.shape for key, tensor in abstract.state_dict().items()} == shapes
    everything = [*abstract.parameters(), *abstract.buffers()]
    assert {tensor.device.type for tensor in everything} == {"meta"}
