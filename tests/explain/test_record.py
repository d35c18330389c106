"""The recorder: maps of every kind of model from outside, and nothing changed by looking."""

import contextlib
import subprocess
import sys

import pytest
import torch
from torch.testing import assert_close

from tests.contract.cases import CASES, DISTINCT, built, images
from vitlab.errors import UserError
from vitlab.explain.record import attention_layers, recording
from vitlab.parts import kernels
from vitlab.parts.attention import CoreModule

ATTENDING = [name for name in DISTINCT if '"attention"' in CASES[name].model_dump_json()]


@pytest.mark.parametrize("name", ATTENDING)
def test_logits_are_the_same_to_the_last_bit(name):
    model, x = built(name), images(name)
    with torch.no_grad():
        plain = model(x)
        with recording(model) as seen:
            assert torch.equal(model(x), plain)
    with recording(model, gradients=True) as seen:
        logits = model(x)
        assert torch.equal(logits, plain)
        gradients = seen.map_gradients(logits.sum())
    for layer, gradient in zip(seen, gradients, strict=True):
        assert gradient.shape == layer.map.shape
        assert layer.grid == CASES[name].patch.grid(CASES[name].image)
        assert layer.prefix == CASES[name].prefix.count


@pytest.mark.parametrize("name", ATTENDING)
def test_the_gradient_of_a_map_is_that_of_a_model_computed_by_its_maps(name, monkeypatch):
    """Autograd's own dL/dA, with each core's output computed as `core.map(q, k) @ v`."""
    model, x = built(name), images(name)
    maps = {}
    places = attention_layers(model)

    def by_map(core, inputs, output):
        q, k, v, *bias = inputs
        maps[core] = core.map(q, k, *bias)
        maps[core].retain_grad()
        return maps[core] @ v

    with contextlib.ExitStack() as hooks:
        for place in places:
            hooks.callback(place.core.register_forward_hook(by_map).remove)
        model(x)[:, 1].sum().backward()
    model.zero_grad()
    with recording(model, gradients=True) as seen:
        found = seen.map_gradients(model(x)[:, 1].sum())
    for place, layer, gradient in zip(places, seen, found, strict=True):
        assert_close(layer.map, maps[place.core].detach(), rtol=1e-5, atol=1e-6)
        assert_close(gradient, maps[place.core].grad, rtol=1e-3, atol=1e-5)


def test_only_the_layers_asked_for_are_kept():
    model, x = built("vit, the base"), images("vit, the base")
    with recording(model, (-1,)) as seen, torch.no_grad():
        model(x)
    assert [layer.place.name for layer in seen] == ["blocks.1.attention"]
    assert list(seen.layers) == [1]
    assert sum(len(module._forward_hooks) for module in model.modules()) == 0


def test_a_layer_that_is_not_there():
    with (
        pytest.raises(UserError, match="no layer 2: this model has 2, numbered from 0 to 1"),
        recording(built("vit, the base"), (2,)),
    ):
        pass


def test_a_model_without_attention():
    with pytest.raises(UserError, match="no attention"), recording(torch.nn.Linear(2, 2)):
        pass


@pytest.mark.parametrize("gradients", [False, True])
def test_everything_is_put_back_when_something_flies(gradients):
    model = built("vit, attending pool")
    model.train()
    model.blocks[0].eval()
    before = [module.training for module in model.modules()]
    during = []

    def fly():
        with recording(model, gradients=gradients, tokens=True):
            during.append(any(module.training for module in model.modules()))
            model(images("vit, attending pool"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fly()
    assert during == [False]
    assert [module.training for module in model.modules()] == before
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    model.eval()


def test_frozen_weights_still_have_gradients_of_maps():
    model, x = built("vit, the base"), images("vit, the base")
    with recording(model, gradients=True) as seen:
        expected = seen.map_gradients(model(x).sum())
    model.requires_grad_(False)
    try:
        with recording(model, gradients=True) as seen:
            for found, wanted in zip(seen.map_gradients(model(x).sum()), expected, strict=True):
                assert_close(found, wanted)
    finally:
        model.requires_grad_(True)


@pytest.mark.parametrize("kernel", list(kernels.KERNELS))
def test_maps_do_not_depend_on_the_kernel(kernel, monkeypatch):
    monkeypatch.setattr(kernels, "rule", lambda *_: kernel)
    model, x = built("vit, the base"), images("vit, the base")
    with recording(model) as seen, torch.no_grad():
        model(x)
    core = seen[0].place.core
    assert isinstance(core, CoreModule)
    scores = seen[0].q @ seen[0].k.transpose(2, 3) / seen[0].q.shape[3] ** 0.5
    assert_close(seen[0].map, scores.softmax(dim=3))


_COMPILED = """
import torch, vitlab
from vitlab.explain.record import recording
model = vitlab.create("vit_simple_patch8_32").eval()
x = torch.randn(2, 3, 32, 32)
with torch.no_grad():
    plain = model(x)
    for block in model.blocks[1:]:
        block.compile(backend="eager")
    compiled = torch.compile(model, backend="eager")
    compiled(x)
    with recording(compiled) as seen:
        assert torch.equal(compiled(x), plain)
print([tuple(layer.map.shape) for layer in seen], seen[1].place.name)
"""


@pytest.mark.slow
def test_a_compiled_model_is_recorded_as_it_was_written():
    """In a Python of its own: the checker of shapes and torch.compile do not go together."""
    done = subprocess.run([sys.executable, "-c", _COMPILED], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[(2, 8, 17, 17)] * 4} blocks.1.attention\n"


def test_tokens_of_each_block():
    model, x = built("vit, the base"), images("vit, the base")
    with recording(model, tokens=True) as seen, torch.no_grad():
        model(x)
        assert_close(model.norm(seen[-1].tokens), model.features(x).tokens)
