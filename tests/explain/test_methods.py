"""Each method against a naive version, captum or its own axioms."""

import captum.attr
import pytest
import torch
from torch.testing import assert_close

from tests.contract.cases import CASES, DISTINCT, built
from tests.contract.cases import images as images_of
from vitlab.errors import UserError
from vitlab.explain.cells import by_cell, enlarged
from vitlab.explain.methods import integrated
from vitlab.explain.methods.attention import on_grid, rows
from vitlab.explain.methods.known import METHODS, RANDOM, chosen
from vitlab.explain.record import recording
from vitlab.models.registry import create

from . import naive

TARGETS = torch.tensor([3, 1])
# Every kind of attention, pool and token before the patches.
LOOKING = [
    name
    for name in DISTINCT
    if any(
        word in name for word in ("base", "pool", "max", "regist", "relative", "rotary", "reduced", "former", "local")
    )
    or "windows" in name
]
# A pool by mean reads all fifteen patches alike, whatever stands before them.
POOLS = {
    "class token": ({}, [0]),
    "mean": ({"pool": "mean"}, range(1, 16)),
    "mean of patches alone": ({"pool": "mean", "prefix": {"cls": False}}, range(15)),
}


@pytest.fixture
def images():
    return torch.randn(2, 2, 6, 10)


def heat(name, model, images):
    return METHODS[name].explain(model, images, TARGETS)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("name", ["rollout", "weighted-rollout"])
def test_rollouts_agree_with_loops(name, pool, images):
    changes, read = POOLS[pool]
    model = naive.small(**changes)
    found = heat(name, model, images)
    assert found.shape == (2, 3, 5)
    for i in range(2):
        logits, maps = naive.forward_by_maps(model, images[i : i + 1])
        logits[0, TARGETS[i]].backward()
        expected = (naive.rollout if name == "rollout" else naive.weighted_rollout)(maps, read)
        assert_close(found[i].flatten(), expected[-15:].detach(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("pool", POOLS)
def test_attention_is_the_mean_of_the_rows_that_the_head_reads(pool, images):
    changes, read = POOLS[pool]
    model = naive.small(**changes)
    _, maps = naive.forward_by_maps(model, images)
    expected = torch.stack([maps[-1][:, :, token] for token in read]).mean(dim=0)  # B H N
    with recording(model) as seen, torch.no_grad():
        model(images)
    assert_close(rows(seen[-1], seen.reading), expected.detach())
    assert_close(heat("attention", model, images).flatten(1), expected.mean(dim=1)[:, -15:].detach())


def test_integrated_gradients_agree_with_the_midpoint_rule(images):
    model = naive.small()
    found = integrated.attribute(model, images, TARGETS)
    for i in range(2):
        expected = naive.integrated(model, images[i], TARGETS[i], steps=100)
        assert float((found[i] - expected).abs().max()) < 0.01 * float(expected.abs().max())


@pytest.mark.parametrize(
    "name", ["vit, the base", "vit, post-norm", "vit, windows by turns", "vit, reduced", "vit, stem"]
)
def test_integrated_gradients_add_up_to_what_the_image_changed(name):
    model, x = built(name), images_of(name)
    targets = torch.tensor([0, 1, 4])
    found = integrated.attribute(model, x, targets)
    with torch.no_grad():
        change = (model(x) - model(torch.zeros_like(x))).gather(1, targets[:, None])[:, 0]
    error = (found.flatten(1).sum(dim=1) - change).abs() / change.abs()
    assert float(error.max()) <= integrated.COMPLETE


def test_gradients_are_autograds(images):
    model = naive.small()
    leaf = images.clone().requires_grad_()
    model(leaf)[[0, 1], TARGETS].sum().backward()
    assert_close(heat("gradient", model, images), leaf.grad.abs().amax(dim=1))
    assert_close(heat("input-gradient", model, images), (leaf.grad * images).sum(dim=1))


def test_the_smoothed_gradient_is_the_mean_over_noise_and_the_same_each_time(images):
    model = naive.small()
    spread = 0.15 * float(images.max() - images.min())
    total = torch.zeros_like(images)
    for _ in range(100):
        leaf = (images + spread * torch.randn_like(images)).requires_grad_()
        model(leaf)[[0, 1], TARGETS].sum().backward()
        total += leaf.grad.abs() / 100
    found = heat("smooth-gradient", model, images)
    expected = total.amax(dim=1)
    assert float((found - expected).abs().mean()) < 0.25 * float(expected.mean())
    before = torch.random.get_rng_state()
    assert torch.equal(heat("smooth-gradient", model, images), found)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_occlusion_agrees_with_captum(images):
    model = naive.small()
    expected = captum.attr.Occlusion(model).attribute(
        images, sliding_window_shapes=(2, 2, 2), strides=(2, 2, 2), target=TARGETS, baselines=0
    )
    found = enlarged(heat("occlusion", model, images), images)
    assert_close(found, expected[:, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LOOKING)
def test_every_method_answers_every_model_or_says_why_not(name):
    model, x = built(name), images_of(name, 1)
    grid = CASES[name].patch.grid(CASES[name].image)
    for method in METHODS.values():
        if "linformer" in CASES[name].model_dump_json() and method.name == "rollout":
            with pytest.raises(UserError, match="are no shares of one"):
                method.explain(model, x, torch.tensor([2]))
            continue
        found = method.explain(model, x, torch.tensor([2]))
        assert found.isfinite().all(), method.name
        assert by_cell(found, grid).shape == (1, *grid)
        assert found.std() > 0, method.name


def test_spatial_reduction_spreads_a_key_over_the_patches_it_was_made_of():
    model = naive.small(block__attention={"kind": "reduced", "heads": 3, "ratio": 2}, image=(8, 12))
    with recording(model) as seen, torch.no_grad():
        model(torch.randn(1, 2, 8, 12))
    layer = seen[-1]
    assert layer.map.shape == (1, 3, 25, 1 + 2 * 3)
    found = on_grid(rows(layer, seen.reading), layer)
    for head in range(3):
        small = layer.map[0, head, 0, 1:].view(2, 3)
        for row in range(4):
            for column in range(6):
                assert_close(found[0, head, row, column], small[row // 2, column // 2] / 4)


@pytest.mark.parametrize("frozen", [False, True])
def test_grad_cam_of_a_network_agrees_with_captum(frozen):
    model = create("resnet18_cifar_32", classes=5).eval().requires_grad_(not frozen)
    images = torch.randn(2, 3, 32, 32)
    expected = captum.attr.LayerGradCam(model, model.layer4).attribute(
        images.clone().requires_grad_(), target=TARGETS, relu_attributions=True
    )
    assert_close(heat("grad-cam", model, images), expected[:, 0].detach(), rtol=1e-4, atol=1e-6)


def test_grad_cam_of_a_transformer_is_of_the_patches_that_go_into_its_last_block(images):
    model = naive.small()
    patches, grid = model.patch(images)
    x = model.position(model.prefix(patches), grid)
    for block in model.blocks[:-1]:
        x = block(x, grid)
    x = x.detach().requires_grad_()
    model.head(model.pool(model.norm(model.blocks[-1](x, grid))))[[0, 1], TARGETS].sum().backward()
    for i in range(2):
        weights = x.grad[i, 1:].mean(dim=0)
        expected = torch.stack([(weights * x[i, 1 + p]).sum().clamp_min(0) for p in range(15)])
        assert_close(heat("grad-cam", model, images)[i].flatten(), expected.detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["attention", "rollout", "weighted-rollout"])
def test_a_network_has_no_attention(name):
    with pytest.raises(UserError, match="this model has no attention to look at"):
        METHODS[name].explain(create("resnet18_cifar_32", classes=5), torch.randn(1, 3, 32, 32), torch.tensor([2]))


def test_random_is_the_same_each_time_and_not_for_every_batch(images):
    model = naive.small()
    first = RANDOM.explain(model, images, TARGETS)
    assert torch.equal(RANDOM.explain(model, images, TARGETS), first)
    assert not torch.equal(RANDOM.explain(model, images + 1, TARGETS), first)


def test_a_method_that_is_not_there():
    with pytest.raises(UserError, match="no method 'rolout'; did you mean 'rollout'"):
        chosen(("rolout",))
    assert [method.name for method in chosen(("rollout", "gradient"))] == ["rollout", "gradient"]
