"""Ti S B L H: the sizes that papers share, in one table."""

from typing import NamedTuple


class Size(NamedTuple):
    width: int
    depth: int
    heads: int


SIZES = {
    "tiny": Size(192, 12, 3),  # DeiT-Ti
    "small": Size(384, 12, 6),  # DeiT-S
    "medium": Size(512, 12, 8),  # DeiT III
    "base": Size(768, 12, 12),  # ViT, table 1
    "large": Size(1024, 24, 16),
    "huge": Size(1280, 32, 16),
    # for small pictures, trained from scratch
    "cifar": Size(512, 6, 4),
    "cifar_large": Size(512, 24, 8),
    "simple": Size(128, 4, 8),
    "mnist": Size(96, 6, 3),
    "compact": Size(192, 4, 8),
    "few": Size(64, 4, 4),  # a few thousand images
}
