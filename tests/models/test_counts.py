"""Parameters and multiply-adds of every registered model, against published counts or a closed formula."""

from functools import cache

import pytest

import vitlab
from vitlab.models.cost import Cost, cost
from vitlab.models.plain import Plain
from vitlab.models.registry import models
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.head import Linear
from vitlab.parts.mlp import TwoLayer
from vitlab.parts.norm import Layer
from vitlab.parts.patch import Conv, as_pair
from vitlab.parts.pool import ClassToken
from vitlab.parts.position import Learned
from vitlab.parts.residual import Add

# name -> parameters, GMACs of one image where they are published
PUBLISHED: dict[str, tuple[int, float | None]] = {
    "vit_base_patch16_64": (85_668_106, 1.459),
    "vit_cifar_patch8_32": (19_028_490, 0.324),
    "vit_cifar_small_patch4_32": (5_362_762, 0.365),
    "vit_cifar_base_patch4_32": (21_342_346, 1.420),
    "vit_cifar_large_patch4_32": (75_722_250, 5.013),
    "vit_simple_patch8_32": (821_642, None),
    "vit_tiny_patch16_224": (5_717_416, 1.254),
    "vit_small_patch16_224": (22_050_664, 4.599),
    "vit_small_patch32_224": (22_878_952, 1.143),
    "vit_base_patch8_224": (86_576_872, 78.15),
    "vit_base_patch16_224": (86_567_656, 17.56),
    "vit_base_patch32_224": (88_224_232, 4.409),
    "vit_large_patch16_224": (304_326_632, 61.55),
    "vit_huge_patch14_224": (632_045_800, 167.3),
    # timm 1.0.31
    "deit_tiny_distilled_patch16_224": (5_910_800, None),
    "deit_small_distilled_patch16_224": (22_436_432, None),
    "deit_base_distilled_patch16_224": (87_338_192, None),
    "deit_base_distilled_patch16_384": (87_630_032, None),
    "deit3_small_patch16_224": (22_059_496, None),
    "deit3_small_patch16_384": (22_205_416, None),
    "deit3_medium_patch16_224": (38_849_512, None),
    "deit3_base_patch16_224": (86_585_320, None),
    "deit3_base_patch16_384": (86_877_160, None),
    "deit3_large_patch16_224": (304_374_760, None),
    "deit3_large_patch16_384": (304_763_880, None),
    "deit3_huge_patch14_224": (632_126_440, None),
    "vit_small_patch14_dinov2": (22_056_192, None),
    "vit_small_patch14_reg4_dinov2": (22_057_344, None),
    "vit_base_patch14_dinov2": (86_579_712, None),
    "vit_base_patch14_reg4_dinov2": (86_582_016, None),
    "vit_large_patch14_dinov2": (304_367_616, None),
    "vit_large_patch14_reg4_dinov2": (304_370_688, None),
    # ours, by hand: filters 312, convolutions 124,416, their norms 512, places 9,408, blocks 4 x 444,864, their offsets
    # 4 x 1,352, the rest 2,314
    "vit_compact_32": (1_921_826, 0.1288),
    # torchvision 0.28; 200 layers: timm 1.0.31, and He et al. 2016; the small stem: as trained on CIFAR-10 elsewhere
    "resnet18": (11_689_512, 1.81),
    "resnet34": (21_797_672, 3.66),
    "resnet50": (25_557_032, 4.09),
    "resnet101": (44_549_160, 7.80),
    "resnet152": (60_192_808, 11.51),
    "resnet200": (64_673_832, None),
    "resnet18_cifar_32": (11_173_962, 0.56),
    "resnet34_cifar_32": (21_282_122, 1.16),
    "resnet50_cifar_32": (23_520_842, 1.30),
}


@cache
def _cost(name: str) -> Cost:
    return cost(vitlab.blueprint(name), batch=1)


def _vit_parameters(blueprint: Plain) -> int:
    """What a ViT of these sizes has: the formula, good for the parts that ViT is made of and for no others."""
    rows, columns = blueprint.patch.grid(blueprint.image)
    pixels = as_pair(blueprint.patch.size)[0] * as_pair(blueprint.patch.size)[1]
    d = blueprint.width
    patch = blueprint.channels * pixels * d + d
    vectors = d * (1 + 1 + rows * columns)  # the class token; its position and those of the patches
    block = (3 * d * d + 3 * d) + (d * d + d) + (4 * d * d + 4 * d) + (4 * d * d + d) + 2 * 2 * d
    return patch + vectors + blueprint.depth * block + 2 * d + (d + 1) * blueprint.classes


def _vit_macs(blueprint: Plain) -> int:
    rows, columns = blueprint.patch.grid(blueprint.image)
    pixels = as_pair(blueprint.patch.size)[0] * as_pair(blueprint.patch.size)[1]
    d, n = blueprint.width, 1 + rows * columns
    block = 12 * n * d * d + 2 * n * n * d  # the matrices of attention and MLP; scores and their use
    return rows * columns * blueprint.channels * pixels * d + blueprint.depth * block + d * blueprint.classes


def _is_vit(blueprint: vitlab.Blueprint) -> bool:
    """Whether the formula holds: ViT's parts, whatever their sizes."""
    if not isinstance(blueprint, Plain) or not isinstance(blueprint.block, PreNorm):
        return False
    block, attention = blueprint.block, blueprint.block.attention
    return (
        isinstance(blueprint.patch, Conv)
        and blueprint.prefix.count == 1
        and blueprint.position == Learned()
        and attention == SelfAttention(heads=attention.heads)
        and block.mlp == TwoLayer()
        and all(isinstance(norm, Layer) for norm in (block.norm, blueprint.norm))
        and isinstance(block.residual, Add)
        and isinstance(blueprint.pool, ClassToken)
        and isinstance(blueprint.head, Linear)
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_as_many_as_published(name):
    assert _cost(name).parameters == PUBLISHED[name][0]


@pytest.mark.parametrize("name", [name for name, (_, gmacs) in PUBLISHED.items() if gmacs])
def test_multiply_adds_are_within_a_hundredth_of_those_published(name):
    assert _cost(name).gmacs == pytest.approx(PUBLISHED[name][1], rel=0.01)


def test_huge_without_a_classifier_is_the_published_figure():
    blueprint = vitlab.blueprint("vit_huge_patch14_224")
    assert cost(blueprint.change(classes=0), batch=1).parameters == 630_764_800
    assert _cost("vit_huge_patch14_224").parameters == 630_764_800 + 1280 * 1000 + 1000


@pytest.mark.parametrize("name", [name for name in models() if name not in PUBLISHED])
def test_a_model_without_a_published_count_has_that_of_the_formula(name):
    blueprint = vitlab.blueprint(name)
    assert _is_vit(blueprint), f"{name} is no ViT to the letter: put its published count into PUBLISHED"
    assert _cost(name).parameters == _vit_parameters(blueprint)
    # the counter sees products of matrices and convolutions alone, and so does the formula
    assert _cost(name).gmacs == pytest.approx(_vit_macs(blueprint) / 1e9, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if _is_vit(vitlab.blueprint(name))])
def test_the_formula_agrees_with_the_published_counts(name):
    assert _vit_parameters(vitlab.blueprint(name)) == PUBLISHED[name][0]


@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "vit_simple_patch8_32"])
def test_parameters_by_part_add_up(name):
    assert sum(_cost(name).by_part.values()) == _cost(name).parameters
