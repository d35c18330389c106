"""DINOv2: features learned without labels (Oquab et al. 2024), and with registers (Darcet et al. 2024).

ViT with patches of 14 pixels on images of 518, layer scale, and no classifier. The models with registers put four more
learned tokens behind the class token and give none of the five a position.
"""

from functools import partial

from vitlab.models.families.vit import vit
from vitlab.models.plain import Plain
from vitlab.models.registry import register
from vitlab.parts.position import Learned
from vitlab.parts.residual import Scale
from vitlab.parts.tokens import Prefix


def dinov2(size: str, *, registers: int = 0, image: int = 518, classes: int = 0) -> Plain:
    """DINOv2 of a size of `sizes.py`; without classes it gives the class token."""
    return vit(size, patch=14, image=image, classes=classes).change(
        dropout=0.0,
        prefix=Prefix(registers=registers),
        position=Learned(prefix=not registers),
        block__residual=Scale(start=1e-5),
    )


for _size in ("small", "base", "large"):
    register(f"vit_{_size}_patch14_dinov2", partial(dinov2, _size))
    register(f"vit_{_size}_patch14_reg4_dinov2", partial(dinov2, _size, registers=4))
