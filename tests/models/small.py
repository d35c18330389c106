"""A small ViT of the tests' own, so that no preset is bound to what they expect."""

from vitlab.models.plain import Plain
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.patch import Conv

SMALL = Plain(
    name="small",
    image=(8, 8),
    channels=1,
    classes=10,
    width=96,
    depth=2,
    patch=Conv(size=2),
    block=PreNorm(attention=SelfAttention(heads=3)),
)
