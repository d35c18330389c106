"""The isotropic assembly: one width and one grid from the first block to the last (ViT, DeiT, BEiT, Mixer).

    image -> patch -> prefix tokens -> position -> block x depth -> norm -> pool -> head -> logits

The assembly calls the parts and never asks what kind they are.
"""

from dataclasses import replace
from typing import ClassVar, Literal, Self

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint, Features, Layers, Model
from vitlab.parts import (  # noqa: F401  their kinds, known by import
    linformer,
    neighbours,
    performer,
    reduction,
    sparse,
    tower,
    window,
)
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import Block, PreNorm
from vitlab.parts.head import Head, Heads, Linear
from vitlab.parts.init import Init, Truncated
from vitlab.parts.norm import Layer, Norm
from vitlab.parts.part import Site
from vitlab.parts.patch import Conv, Patch
from vitlab.parts.pool import ClassToken, Pool
from vitlab.parts.position import Learned, Position
from vitlab.parts.tokens import Prefix

_MOST_TOKENS = 2**18  # an image of 8192 pixels in patches of 16; beyond it positions alone fill the memory


class Plain(Blueprint):
    """A Vision Transformer of one width; the defaults are ViT's choices at the size called tiny."""

    kind: Literal["plain"] = "plain"
    regularisers: ClassVar[tuple[str, ...]] = ("dropout", "drop_path")

    width: int = Field(default=192, ge=1, le=65_536)
    depth: int = Field(default=12, ge=1, le=1_024)
    patch: Patch = Conv()
    prefix: Prefix = Prefix()
    position: Position = Learned()
    block: Block = PreNorm(attention=SelfAttention(heads=3))
    norm: Norm | None = Layer()
    pool: Pool = ClassToken()
    head: Head = Linear()
    init: Init = Truncated()
    dropout: float = Field(default=0.0, ge=0, lt=1)
    drop_path: float = Field(default=0.0, ge=0, lt=1, description="of the last block; from zero in the first")

    @property
    def site(self) -> Site:
        """Where the parts stand."""
        return Site(self.width, self.patch.grid(self.image), self.prefix.count, self.dropout)

    def build(self) -> Model:
        return PlainTransformer(self)

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.pool.needs_cls and not self.prefix.cls:
            raise UserError("the pool takes the class token, but prefix.cls is off; pool by mean, or turn it on")
        if self.pool.needs_distillation and not self.prefix.distillation:
            raise UserError("the pool takes the distillation token, but prefix.distillation is off; turn it on")
        if self.head.vectors not in (None, self.pool.vectors):
            raise UserError(
                f"the head reads {self.head.vectors} vectors side by side and the pool gives {self.pool.vectors}; "
                "pool by cls_distillation, or take the head 'linear'"
            )
        if self.prefix.count and not self.block.takes_prefix:
            raise UserError(
                "this attention sees the grid of patches alone; "
                "take the tokens before it away (prefix={'cls': False}) and pool by mean"
            )
        if self.site.length > _MOST_TOKENS:
            raise UserError(
                f"an image of {self.image[0]}x{self.image[1]} makes {self.site.length:,} tokens, "
                f"more than {_MOST_TOKENS:,}; take larger patches or a smaller image"
            )
        with torch.device("meta"):  # what the parts themselves refuse, refused before any memory is taken
            self.block.build(self.site)
            self.position.build(self.site)
            self.pool.build(self.site)
        return self


class PlainTransformer(Model):
    """The module of a `Plain` blueprint."""

    def __init__(self, blueprint: Plain) -> None:
        super().__init__()
        site = blueprint.site
        last = max(blueprint.depth - 1, 1)
        self.blueprint = blueprint
        self.patch = blueprint.patch.build(blueprint.channels, blueprint.width)
        self.prefix = blueprint.prefix.build(blueprint.width)
        self.position = blueprint.position.build(site)
        self.blocks = nn.ModuleList(
            blueprint.block.build(replace(site, layer=layer, drop_path=blueprint.drop_path * layer / last))
            for layer in range(blueprint.depth)
        )
        self.norm = blueprint.norm.build(blueprint.width) if blueprint.norm else nn.Identity()
        self.pool = blueprint.pool.build(site)
        self.head = blueprint.head.build(blueprint.pool.vectors * blueprint.width, blueprint.classes)
        blueprint.init.start(self)

    def features(self, images: Float[Tensor, "B channels X Y"]) -> Features:
        patches, grid = self.patch(images)
        tokens = self.position(self.prefix(patches), grid)
        for block in self.blocks:
            tokens = block(tokens, grid)
        tokens = self.norm(tokens)
        return Features(tokens, grid, self.pool(tokens))

    def forward(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B classes"]:
        logits: Tensor = self.head(self.features(images).pooled)
        return logits

    @property
    def layers(self) -> Layers:
        return Layers((self.patch, self.prefix, self.position), (*self.blocks,), (self.norm, self.pool), (self.head,))

    def answers(self, images: Float[Tensor, "B channels X Y"]) -> tuple[Tensor, ...]:
        return self.head.each(self.features(images).pooled) if isinstance(self.head, Heads) else (self(images),)
