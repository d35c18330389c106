"""The isotropic assembly against ViT's equations, and what it knows of the order of patches."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import vitlab
from vitlab.models.plain import Plain
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.patch import Unfold

MINI = Plain(
    image=(6, 8),
    channels=2,
    classes=3,
    width=8,
    depth=2,
    patch=Unfold(size=2),
    block=PreNorm(attention=SelfAttention(heads=2)),
)


def _wandered(blueprint: Plain) -> nn.Module:
    model = blueprint.build().double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def _vit(w: dict[str, Tensor], image: Tensor) -> Tensor:
    """ViT for one image, equations 1 to 4 (with MSA after appendix A), one patch, one head, one token after another."""

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: Tensor, name: str) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * w[f"{name}.weight"] + w[f"{name}.bias"]

    def attention(x: Tensor, name: str) -> Tensor:
        q, k, v = linear(x, f"{name}.qkv").split(8, dim=1)
        heads = []
        for channels in (slice(0, 4), slice(4, 8)):
            scores = q[:, channels] @ k[:, channels].T / math.sqrt(4)
            heads.append(scores.exp() / scores.exp().sum(1, keepdim=True) @ v[:, channels])
        return linear(torch.cat(heads, dim=1), f"{name}.proj")

    def mlp(x: Tensor, name: str) -> Tensor:
        x = linear(x, f"{name}.widen")
        return linear(x * (1 + torch.erf(x / math.sqrt(2))) / 2, f"{name}.narrow")

    patches = [image[:, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2].flatten() for r in range(3) for c in range(4)]
    z = torch.cat([w["prefix.table.weight"], linear(torch.stack(patches), "patch.proj")])
    z = z + w["position.table.vectors.weight"]
    for layer in ("blocks.0", "blocks.1"):
        z = z + attention(norm(z, f"{layer}.norm1"), f"{layer}.attention")
        z = z + mlp(norm(z, f"{layer}.norm2"), f"{layer}.mlp")
    return linear(norm(z, "norm")[0], "head")


def test_logits_equal_those_of_the_equations():
    model = _wandered(MINI)
    images = torch.randn(3, 2, 6, 8, dtype=torch.float64)
    expected = torch.stack([_vit(dict(model.state_dict()), image) for image in images])
    assert_close(model(images), expected)


def test_features_are_the_normalised_tokens_their_grid_and_what_the_pool_took():
    model = _wandered(MINI.change(pool="mean", prefix={"cls": True, "registers": 2}))
    images = torch.randn(3, 2, 6, 8, dtype=torch.float64)
    tokens, grid, pooled = model.features(images)
    assert tokens.shape == (3, 1 + 2 + 12, 8)
    assert grid == (3, 4)
    assert_close(pooled, tokens[:, 3:].mean(dim=1))
    assert_close(model(images), pooled @ model.head.weight.T + model.head.bias)


def _shuffled(images: Tensor, order: Tensor) -> Tensor:
    """The image with its 2 x 2 patches in another order."""
    patches = images.unfold(2, 2, 2).unfold(3, 2, 2).flatten(2, 3)[:, :, order]  # (B, channels, patches, 2, 2)
    return patches.unflatten(2, (3, 4)).permute(0, 1, 2, 4, 3, 5).reshape(images.shape)


@pytest.mark.parametrize("core", ["softmax", "performer"])
def test_without_positions_shuffled_patches_give_shuffled_tokens(core):
    model = _wandered(MINI.change(position="none", pool="mean", prefix={"cls": False}, block__attention__core=core))
    images, order = torch.randn(2, 2, 6, 8, dtype=torch.float64), torch.randperm(12)
    shuffled = _shuffled(images, order)
    assert not torch.equal(shuffled, images)
    assert_close(model.features(shuffled).tokens, model.features(images).tokens[:, order])
    assert_close(model(shuffled), model(images))


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "sincos", "factorised"])
def test_with_positions_the_order_of_patches_matters(position):
    model = _wandered(MINI.change(position=position, pool="mean"))
    images = torch.randn(2, 2, 6, 8, dtype=torch.float64)
    assert (model(_shuffled(images, torch.randperm(12))) - model(images)).abs().max() > 1e-3


@pytest.mark.parametrize("relative", ["rotary", "bias"])
def test_with_relative_positions_the_order_of_patches_matters(relative):
    model = _wandered(MINI.change(position="none", pool="mean", block__attention__relative=relative))
    images = torch.randn(2, 2, 6, 8, dtype=torch.float64)
    assert (model(_shuffled(images, torch.randperm(12))) - model(images)).abs().max() > 1e-3


def test_tokens_before_the_patches_are_class_distillation_registers():
    """The class token is the first row of one table, whatever comes after it."""
    model = _wandered(MINI.change(prefix={"distillation": True, "registers": 2}, depth=1, norm=None))
    assert model.prefix.table.weight.shape == (4, 8)
    seen = {}
    model.blocks[0].register_forward_pre_hook(lambda _, args: seen.update(tokens=args[0]))
    tokens = model.features(torch.randn(1, 2, 6, 8, dtype=torch.float64))
    expected = model.prefix.table.weight + model.position.table.vectors.weight[:4]
    assert_close(seen["tokens"][0, :4], expected)
    assert torch.equal(tokens.pooled, tokens.tokens[:, 0])


@pytest.mark.parametrize(("depth", "rates"), [(1, [0.0]), (2, [0.0, 0.3]), (4, [0.0, 0.1, 0.2, 0.3])])
def test_stochastic_depth_rises_evenly_to_the_last_block(depth, rates):
    model = MINI.change(depth=depth, drop_path=0.3).build()
    for block, rate in zip(model.blocks, rates, strict=True):
        assert (block.residual1.drop_path, block.residual2.drop_path) == (pytest.approx(rate), pytest.approx(rate))


def test_dropout_reaches_every_place_that_drops():
    model = MINI.change(dropout=0.25, pool={"kind": "attend", "heads": 2}).build()
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    rates += [block.attention.core.dropout for block in model.blocks] + [model.pool.attention.core.dropout]
    # in each of two blocks the projection, the MLP and the map; in the pool the projection and the map
    assert rates == [0.25] * (2 * 3 + 2)


def test_the_same_seed_builds_the_same_model():
    torch.manual_seed(4)
    one = vitlab.create(MINI)
    torch.manual_seed(4)
    other = vitlab.create(MINI)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
