"""ViT: the plain Vision Transformer (Dosovitskiy et al. 2021, An Image is Worth 16x16 Words).

A class token before patches cut by a convolution, learned positions, pre-norm blocks with GELU, dropout 0.1. The small
sizes for 28 and 32 pixels are the ones that tutorials train on MNIST and CIFAR-10; `vit_simple` is the post-norm one.
"""

from functools import partial

from vitlab.models.plain import Plain
from vitlab.models.registry import register
from vitlab.models.sizes import SIZES
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PostNorm, PreNorm
from vitlab.parts.head import Normed
from vitlab.parts.init import Xavier
from vitlab.parts.mlp import TwoLayer
from vitlab.parts.patch import Conv, Unfold


def vit(size: str, *, patch: int, image: int = 224, classes: int = 1000, channels: int = 3) -> Plain:
    """ViT of a size of `sizes.py`, with square patches on square images."""
    width, depth, heads = SIZES[size]
    return Plain(
        image=(image, image),
        channels=channels,
        classes=classes,
        width=width,
        depth=depth,
        patch=Conv(size=patch),
        block=PreNorm(attention=SelfAttention(heads=heads)),
        dropout=0.1,
    )


def vit_for_few(size: str, *, patch: int, image: int, classes: int, channels: int = 3) -> Plain:
    """ViT for a few thousand images: first values that let positions speak at once, and no dropout.

    With the usual deviation of 0.02 a narrow model spends its few epochs finding out where its patches are.
    """
    found = vit(size, patch=patch, image=image, classes=classes, channels=channels)
    return found.change(init=Xavier(vectors="unit"), dropout=0.0)


def vit_simple() -> Plain:
    """The post-norm, ReLU one of many tutorials: unfold + linear, a LayerNorm in the head only."""
    width, depth, heads = SIZES["simple"]
    return Plain(
        image=(32, 32),
        classes=10,
        width=width,
        depth=depth,
        patch=Unfold(size=8),
        block=PostNorm(attention=SelfAttention(heads=heads), mlp=TwoLayer(activation="relu")),
        norm=None,
        head=Normed(),
        dropout=0.1,
    )


_PATCHES = {
    224: {"tiny": [16], "small": [8, 16, 32], "base": [8, 16, 32], "large": [14, 16, 32], "huge": [14]},
    384: {"tiny": [16], "small": [16, 32], "base": [16, 32], "large": [16, 32]},
}
for _image, _sizes in _PATCHES.items():
    for _size, _patches in _sizes.items():
        for _patch in _patches:
            register(f"vit_{_size}_patch{_patch}_{_image}", partial(vit, _size, patch=_patch, image=_image))

register("vit_base_patch16_64", partial(vit, "base", patch=16, image=64, classes=10))
register("vit_cifar_patch8_32", partial(vit, "cifar", patch=8, image=32, classes=10))
register("vit_cifar_small_patch4_32", partial(vit, "tiny", patch=4, image=32, classes=10))
register("vit_cifar_base_patch4_32", partial(vit, "small", patch=4, image=32, classes=10))
register("vit_cifar_large_patch4_32", partial(vit, "cifar_large", patch=4, image=32, classes=10))
register("vit_simple_patch8_32", vit_simple)
register("vit_mnist_patch7_28", partial(vit, "mnist", patch=7, image=28, classes=10, channels=1))
register("vit_few_patch2_8", partial(vit_for_few, "few", patch=2, image=8, classes=10, channels=1))
