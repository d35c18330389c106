"""Compact models for small images trained from scratch: convolutions look first, blocks with global attention follow.

Small data sets hold too few images to learn from nothing that neighbouring pixels belong together. The idea is that of
Hassani et al. 2021 (Escaping the Big Data Paradigm with Compact Transformers) and Xiao et al. 2021 (Early Convolutions
Help Transformers See Better). Here the convolutions are few, so that a token has seen 11 x 11 pixels and what lies
further apart is the attention's to find; its heads begin at the neighbours. Why so: docs/log.md.
"""

from functools import partial

from vitlab.models.plain import Plain
from vitlab.models.registry import register
from vitlab.models.sizes import SIZES
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.filters import Whitening
from vitlab.parts.init import Xavier
from vitlab.parts.neighbours import Neighbours
from vitlab.parts.pool import Mean
from vitlab.parts.tokens import Prefix
from vitlab.parts.tower import Tower


def compact(size: str = "compact", *, image: int = 32, classes: int = 10, channels: int = 3) -> Plain:
    """Two stages of one convolution, a third of the multiply-adds, then blocks on what is a quarter of the side."""
    width, depth, heads = SIZES[size]
    return Plain(
        image=(image, image),
        channels=channels,
        classes=classes,
        width=width,
        depth=depth,
        patch=Tower(filters=Whitening()),
        prefix=Prefix(cls=False),
        block=PreNorm(attention=SelfAttention(heads=heads, relative=Neighbours())),
        pool=Mean(),
        init=Xavier(),
    )


register("vit_compact_32", partial(compact, image=32))
