"""Pretrained checkpoints by the names of the models that they are of: `load("deit_small_patch16_224")` fetches one.

Accuracies are timm's published results on ImageNet-1k's validation images, at the size and crop given here. DINOv2 has
no classifier.
"""

from typing import Literal, NamedTuple


class Pretrained(NamedTuple):
    """Where a checkpoint is, what may be done with it, how its images are prepared, how good it is."""

    source: str
    licence: str
    image: int
    crop: float
    figures: Literal["half", "imagenet"]  # mean and deviation of the images: 0.5 and 0.5, or ImageNet's
    top1: float | None = None  # per cent


def _augreg(name: str, image: int, crop: float, top1: float, tag: str = "augreg_in21k_ft_in1k") -> Pretrained:
    return Pretrained(f"timm:{name}.{tag}", "Apache-2.0", image, crop, "half", top1)


def _deit(name: str, image: int, crop: float, top1: float) -> Pretrained:
    return Pretrained(f"timm:{name}.fb_in1k", "Apache-2.0", image, crop, "imagenet", top1)


def _dino(name: str) -> Pretrained:
    return Pretrained(f"timm:{name}.lvd142m", "Apache-2.0", 518, 1.0, "imagenet")


CATALOGUE: dict[str, Pretrained] = {
    "vit_tiny_patch16_224": _augreg("vit_tiny_patch16_224", 224, 0.9, 75.45),
    "vit_tiny_patch16_384": _augreg("vit_tiny_patch16_384", 384, 1.0, 78.42),
    "vit_small_patch32_224": _augreg("vit_small_patch32_224", 224, 0.9, 75.99),
    "vit_small_patch32_384": _augreg("vit_small_patch32_384", 384, 1.0, 80.49),
    "vit_small_patch16_224": _augreg("vit_small_patch16_224", 224, 0.9, 81.38),
    "vit_small_patch16_384": _augreg("vit_small_patch16_384", 384, 1.0, 83.80),
    "vit_base_patch32_224": _augreg("vit_base_patch32_224", 224, 0.9, 80.72),
    "vit_base_patch32_384": _augreg("vit_base_patch32_384", 384, 1.0, 83.35),
    "vit_base_patch16_224": _augreg("vit_base_patch16_224", 224, 0.9, 85.10, "augreg2_in21k_ft_in1k"),
    "vit_base_patch16_384": _augreg("vit_base_patch16_384", 384, 1.0, 86.00),
    "vit_base_patch8_224": _augreg("vit_base_patch8_224", 224, 0.9, 86.22, "augreg2_in21k_ft_in1k"),
    "vit_large_patch16_224": _augreg("vit_large_patch16_224", 224, 0.9, 85.83),
    "vit_large_patch16_384": _augreg("vit_large_patch16_384", 384, 1.0, 87.08),
    "deit_tiny_patch16_224": _deit("deit_tiny_patch16_224", 224, 0.9, 72.17),
    "deit_small_patch16_224": _deit("deit_small_patch16_224", 224, 0.9, 79.84),
    "deit_base_patch16_224": _deit("deit_base_patch16_224", 224, 0.9, 81.99),
    "deit_base_patch16_384": _deit("deit_base_patch16_384", 384, 1.0, 83.11),
    "deit_tiny_distilled_patch16_224": _deit("deit_tiny_distilled_patch16_224", 224, 0.9, 74.50),
    "deit_small_distilled_patch16_224": _deit("deit_small_distilled_patch16_224", 224, 0.9, 81.22),
    "deit_base_distilled_patch16_224": _deit("deit_base_distilled_patch16_224", 224, 0.9, 83.39),
    "deit_base_distilled_patch16_384": _deit("deit_base_distilled_patch16_384", 384, 1.0, 85.43),
    "deit3_small_patch16_224": _deit("deit3_small_patch16_224", 224, 0.9, 81.37),
    "deit3_small_patch16_384": _deit("deit3_small_patch16_384", 384, 1.0, 83.43),
    "deit3_medium_patch16_224": _deit("deit3_medium_patch16_224", 224, 0.9, 83.09),
    "deit3_base_patch16_224": _deit("deit3_base_patch16_224", 224, 0.9, 83.79),
    "deit3_base_patch16_384": _deit("deit3_base_patch16_384", 384, 1.0, 85.07),
    "deit3_large_patch16_224": _deit("deit3_large_patch16_224", 224, 0.9, 84.78),
    "deit3_large_patch16_384": _deit("deit3_large_patch16_384", 384, 1.0, 85.81),
    "deit3_huge_patch14_224": _deit("deit3_huge_patch14_224", 224, 0.9, 85.22),
    "vit_small_patch14_dinov2": _dino("vit_small_patch14_dinov2"),
    "vit_base_patch14_dinov2": _dino("vit_base_patch14_dinov2"),
    "vit_large_patch14_dinov2": _dino("vit_large_patch14_dinov2"),
    "vit_small_patch14_reg4_dinov2": _dino("vit_small_patch14_reg4_dinov2"),
    "vit_base_patch14_reg4_dinov2": _dino("vit_base_patch14_reg4_dinov2"),
    "vit_large_patch14_reg4_dinov2": _dino("vit_large_patch14_reg4_dinov2"),
}
