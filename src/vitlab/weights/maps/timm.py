"""timm's names, which are also those of DeiT's, MAE's and DINOv2's own `.pth` files, small differences apart."""

import re

from vitlab.weights.maps.names import Names

TIMM = Names(
    library="timm",
    patch="patch_embed.proj.{}",
    cls="cls_token",
    distillation="dist_token",
    registers="reg_token",
    position="pos_embed",
    block="blocks.{}.",
    norm1="norm1.{}",
    qkv=("attn.qkv.{}",),
    proj="attn.proj.{}",
    scale1="ls1.gamma",
    norm2="norm2.{}",
    widen="mlp.fc1.{}",
    narrow="mlp.fc2.{}",
    scale2="ls2.gamma",
    norm="norm.{}",
    pooled_norm="fc_norm.{}",
    head="head.{}",
    head_distillation="head_dist.{}",
    unused=(
        (r"mask_token", "the token of masked patches"),
        (r"decoder_.*", "the decoder of masked autoencoding"),
    ),
)

# DINOv2's own files: positions of the class token, other words for registers.
OTHER_WORDS = (
    (re.compile(r"register_tokens"), "reg_token"),
    (re.compile(r"blocks\.(\d+)\.gamma_([12])"), r"blocks.\1.ls\2.gamma"),  # DeiT III's
)


def is_timm(names: set[str]) -> bool:
    """Whether tensors of these names are a Vision Transformer of timm's."""
    return {"patch_embed.proj.weight", "blocks.0.attn.qkv.weight", "blocks.0.mlp.fc1.weight"} <= names
