"""Our ViT against the one of `transformers`, side by side: it lives in this environment, so nothing need be recorded.

As with timm, the map of names is written out here, apart from the product's.
"""

import pytest
import torch
from torch import Tensor
from transformers import ViTConfig, ViTForImageClassification

from vitlab.models.blueprint import Blueprint
from vitlab.models.registry import blueprint

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "num_labels": 7}
CONFIGURATIONS = {
    "class_token": {"image_size": 48, "patch_size": 16},
    "patch8": {"image_size": 24, "patch_size": 8, "num_hidden_layers": 3},
    "oblong_image": {"image_size": (16, 24), "patch_size": 4},
    "gray": {"image_size": 28, "patch_size": 7, "num_channels": 1},
    "gelu_tanh": {"image_size": 16, "patch_size": 4, "hidden_act": "gelu_pytorch_tanh"},
    "no_qkv_bias": {"image_size": 16, "patch_size": 4, "qkv_bias": False},
    "coarse_norm": {"image_size": 16, "patch_size": 4, "layer_norm_eps": 0.1},  # large enough to be seen
}
ACTIVATIONS = {"gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh"}

NAMES = {  # theirs to ours, wherever they stand in a name
    "vit.embeddings.patch_embeddings.projection.": "patch.proj.",
    "vit.layernorm.": "norm.",
    "vit.layers.": "blocks.",
    "classifier.": "head.",
    ".layernorm_before.": ".norm1.",
    ".layernorm_after.": ".norm2.",
    ".attention.o_proj.": ".attention.proj.",
    ".mlp.fc1.": ".mlp.widen.",
    ".mlp.fc2.": ".mlp.narrow.",
}


def described(config: ViTConfig) -> Blueprint:
    """The blueprint that says the same as a configuration of theirs."""
    norm = {"kind": "layer", "eps": config.layer_norm_eps}
    return blueprint("vit_tiny_patch16_224").change(
        image=config.image_size,
        channels=config.num_channels,
        classes=config.num_labels,
        width=config.hidden_size,
        depth=config.num_hidden_layers,
        patch__size=config.patch_size,
        block__attention__heads=config.num_attention_heads,
        block__attention__qkv_bias=config.qkv_bias,
        block__mlp__ratio=config.intermediate_size / config.hidden_size,
        block__mlp__activation=ACTIVATIONS[config.hidden_act],
        block__norm=norm,
        norm=norm,
    )


def ours(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names: learned vectors lie in tables, and queries, keys, values are one matrix."""
    state = dict(state)
    renamed = {
        "prefix.table.weight": state.pop("vit.embeddings.cls_token")[0],
        "position.table.vectors.weight": state.pop("vit.embeddings.position_embeddings")[0],
    }
    for name in [name for name in state if ".q_proj." in name]:
        parts = [state.pop(name.replace("q_proj", f"{each}_proj")) for each in "qkv"]
        state[name.replace("q_proj", "qkv")] = torch.cat(parts)
    for name, value in state.items():
        for theirs, our in NAMES.items():
            name = name.replace(theirs, our)
        renamed[name] = value
    return renamed


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_same_numbers_as_transformers(name: str) -> None:
    config = ViTConfig(**(SMALL | CONFIGURATIONS[name]))
    theirs = ViTForImageClassification(config).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in theirs.parameters():  # theirs start at zeros and ones, which would hide a swap
        spread = parameter[0].numel() ** -0.5 if parameter.dim() in (2, 4) else 0.3
        parameter.data += spread * torch.randn(parameter.shape, generator=generator)
    model = described(config).build().eval()
    model.load_state_dict(ours(theirs.state_dict()), strict=True)
    images = torch.randn(2, config.num_channels, *model.blueprint.image, generator=generator)
    with torch.no_grad():
        expected = theirs(images).logits
        torch.testing.assert_close(model(images), expected, rtol=0, atol=1e-5)
        tokens = theirs.vit(images).last_hidden_state
        torch.testing.assert_close(model.features(images).tokens, tokens, rtol=0, atol=1e-5)
    assert expected.std() > 0.1
