"""DeiT: ViT trained on ImageNet alone (Touvron et al. 2021, Training data-efficient image transformers).

The plain models are ViT without dropout. The distilled ones put a distillation token behind the class token, which
learns what a teacher says; each token has a classifier of its own, and their logits are averaged at test. DeiT III
(Touvron et al. 2022) has layer scale, and gives the class token no position.
"""

from functools import partial

from vitlab.models.families.vit import vit
from vitlab.models.plain import Plain
from vitlab.models.registry import register
from vitlab.parts.head import Averaged
from vitlab.parts.pool import ClassAndDistillation
from vitlab.parts.position import Learned
from vitlab.parts.residual import Scale
from vitlab.parts.tokens import Prefix


def deit(size: str, *, patch: int = 16, image: int = 224) -> Plain:
    """ViT without dropout: what makes DeiT is its recipe."""
    return vit(size, patch=patch, image=image).change(dropout=0.0)


def distilled(size: str, *, patch: int = 16, image: int = 224) -> Plain:
    """DeiT with a token that listens to a teacher (section 3)."""
    return deit(size, patch=patch, image=image).change(
        prefix=Prefix(distillation=True), pool=ClassAndDistillation(), head=Averaged()
    )


def deit3(size: str, *, patch: int = 16, image: int = 224) -> Plain:
    """DeiT III: layer scale, and positions for the patches alone."""
    return deit(size, patch=patch, image=image).change(
        position=Learned(prefix=False), block__residual=Scale(start=1e-6)
    )


for _size in ("tiny", "small", "base"):
    register(f"deit_{_size}_patch16_224", partial(deit, _size))
    register(f"deit_{_size}_distilled_patch16_224", partial(distilled, _size))
register("deit_base_patch16_384", partial(deit, "base", image=384))
register("deit_base_distilled_patch16_384", partial(distilled, "base", image=384))
for _size in ("small", "medium", "base", "large"):
    for _image in (224, 384):
        if (_size, _image) != ("medium", 384):
            register(f"deit3_{_size}_patch16_{_image}", partial(deit3, _size, image=_image))
register("deit3_huge_patch14_224", partial(deit3, "huge", patch=14))
