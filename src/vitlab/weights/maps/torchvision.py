"""torchvision's names for its Vision Transformers (`vit_b_16` and the others)."""

import re

from vitlab.weights.maps.names import Names

TORCHVISION = Names(
    library="torchvision",
    patch="conv_proj.{}",
    cls="class_token",
    position="encoder.pos_embedding",
    block="encoder.layers.encoder_layer_{}.",
    norm1="ln_1.{}",
    qkv=("self_attention.in_proj_{}",),
    proj="self_attention.out_proj.{}",
    norm2="ln_2.{}",
    widen="mlp.0.{}",
    narrow="mlp.3.{}",
    norm="encoder.ln.{}",
    head="heads.head.{}",
)

# Files written before its MLP became a sequence.
OTHER_WORDS = (
    (re.compile(r"\.mlp\.linear_1\."), ".mlp.0."),
    (re.compile(r"\.mlp\.linear_2\."), ".mlp.3."),
)


def is_torchvision(names: set[str]) -> bool:
    """Whether tensors of these names are a Vision Transformer of torchvision's."""
    return {"conv_proj.weight", "encoder.layers.encoder_layer_0.self_attention.in_proj_weight"} <= names
