"""The names in files of transformers: ViT, DeiT, DINOv2 with and without registers, and the encoder of ViT-MAE.

These are the names on disk. In memory its newer versions have others, which files saved by hand may hold.
"""

import re

from vitlab.weights.maps.names import Names

_QKV = tuple(f"attention.attention.{part}.{{}}" for part in ("query", "key", "value"))
_UNUSED = (
    (r"(\w+\.)?pooler\..*", "the pooler"),
    (r"(\w+\.)?embeddings\.mask_token", "the token of masked patches"),
    (r"decoder\..*", "the decoder"),
)


def names(kind: str, base: str, teacher: bool = False) -> Names:
    """The table of a model type; `base` begins every name but the classifier's, and is empty for bare encoders."""
    dino = kind.startswith("dinov2")
    return Names(
        library="transformers",
        patch=f"{base}embeddings.patch_embeddings.projection.{{}}",
        cls=f"{base}embeddings.cls_token",
        distillation=f"{base}embeddings.distillation_token",
        registers=f"{base}embeddings.register_tokens",
        position=f"{base}embeddings.position_embeddings",
        class_position=kind == "dinov2_with_registers",
        block=f"{base}encoder.layer.{{}}.",
        norm1="norm1.{}" if dino else "layernorm_before.{}",
        qkv=_QKV,
        proj="attention.output.dense.{}",
        scale1="layer_scale1.lambda1",
        norm2="norm2.{}" if dino else "layernorm_after.{}",
        widen="mlp.fc1.{}" if dino else "intermediate.dense.{}",
        narrow="mlp.fc2.{}" if dino else "output.dense.{}",
        scale2="layer_scale2.lambda1",
        norm=f"{base}layernorm.{{}}",
        head="cls_classifier.{}" if teacher else "classifier.{}",
        head_distillation="distillation_classifier.{}",
        unused=_UNUSED,
    )


# What its newer versions call them in memory.
OTHER_WORDS = (
    (re.compile(r"(^|\.)layers\.(\d+)\."), r"\1encoder.layer.\2."),
    (re.compile(r"(layer\.\d+\.attention\.)q_proj\."), r"\1attention.query."),
    (re.compile(r"(layer\.\d+\.attention\.)k_proj\."), r"\1attention.key."),
    (re.compile(r"(layer\.\d+\.attention\.)v_proj\."), r"\1attention.value."),
    (re.compile(r"(layer\.\d+\.attention\.)o_proj\."), r"\1output.dense."),
)
OTHER_WORDS_OF_MLP = (
    (re.compile(r"(layer\.\d+\.)mlp\.fc1\."), r"\1intermediate.dense."),
    (re.compile(r"(layer\.\d+\.)mlp\.fc2\."), r"\1output.dense."),
)


def is_transformers(names: set[str]) -> bool:
    """Whether tensors of these names are a Vision Transformer of transformers'."""
    return any(name.endswith("embeddings.patch_embeddings.projection.weight") for name in names)
