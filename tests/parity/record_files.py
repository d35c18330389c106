"""Record what timm and torchvision compute from files: `.venv-peers/bin/python tests/parity/record_files.py OUT_DIR`.

It runs in the environment that `make peers` makes and must not import vitlab. Weights are drawn by name (`drawn.py`),
so that a file holds names with shapes, and what came of a batch of drawn images:

    torchvision_*   its Vision Transformers
    timm_*          architectures by name, as `local-dir:` writes them: with their `config.json`
    flax_*          the original `.npz`, written here and read by timm's own loader
    fitted_*        weights that timm's own filter has made fit another image or patch size, with the tables it made
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import numpy as np
import torch
from drawn import pixels, value
from peers import VERSIONS, fill, timm, torchvision
from safetensors.torch import save_file
from timm.models._hub import save_config_for_hf
from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn

TORCHVISION = {
    "torchvision_b": {
        "image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 4, "hidden_dim": 32, "mlp_dim": 64
    },
    "torchvision_deep": {
        "image_size": 24, "patch_size": 4, "num_layers": 4, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 48
    },
    "torchvision_grid": {
        "image_size": 56, "patch_size": 14, "num_layers": 1, "num_heads": 3, "hidden_dim": 24, "mlp_dim": 96
    },
}  # fmt: skip
SMALL = {"embed_dim": 32, "depth": 2, "num_heads": 4}
TIMM = {
    "timm_vit": ("vit_base_patch16_224", SMALL | {"img_size": 64}),
    "timm_vit32": ("vit_small_patch32_224", SMALL | {"img_size": 96}),
    "timm_vit8": ("vit_base_patch8_224", SMALL | {"img_size": 32}),
    "timm_deit": ("deit_tiny_patch16_224", SMALL | {"img_size": 48}),
    "timm_distilled": ("deit_tiny_distilled_patch16_224", SMALL | {"img_size": 48}),
    "timm_deit3": ("deit3_small_patch16_224", SMALL | {"img_size": 48}),
    "timm_dinov2": ("vit_small_patch14_dinov2", SMALL | {"img_size": 56, "num_classes": 0}),
    "timm_registers": ("vit_small_patch14_reg4_dinov2", SMALL | {"img_size": 56, "num_classes": 0}),
    "timm_huge": ("vit_huge_patch14_224", SMALL | {"img_size": 42}),
}
FLAX = {"flax_b": (32, 8, 32, 2, 4), "flax_l": (48, 16, 24, 3, 2)}  # image, patch, width, depth, heads
FITTED = {
    "fitted_384": {"img_size": 384, "patch_size": 16},
    "fitted_160x320": {"img_size": (160, 320), "patch_size": 16},
    "fitted_patch8": {"img_size": 224, "patch_size": 8},
    "fitted_patch32": {"img_size": 224, "patch_size": 32},
}
CLASSES = 5


@torch.no_grad()
def shown(model, shape):
    """What a model makes of images of this shape."""
    return model(pixels(shape))


def of_torchvision(arguments):
    model = fill(torchvision.models.VisionTransformer(**arguments, num_classes=CLASSES))
    shape = (2, 3, arguments["image_size"], arguments["image_size"])
    return model, {"logits": shown(model, shape)}, {"images": shape, "arguments": arguments}


def of_timm(architecture, arguments):
    model = fill(timm.create_model(architecture, **({"num_classes": CLASSES} | arguments)))
    shape = (2, 3, arguments["img_size"], arguments["img_size"])
    with tempfile.TemporaryDirectory() as folder:
        save_config_for_hf(model, Path(folder) / "config.json", model_args=arguments)
        config = json.loads((Path(folder) / "config.json").read_text())
    return model, {"logits": shown(model, shape)}, {"images": shape, "config": config}


def flax_arrays(image, patch, width, depth, heads):
    """The shapes of the published files."""
    each, hidden = width // heads, 4 * width
    shapes = {
        "cls": (1, 1, width),
        "embedding/kernel": (patch, patch, 3, width),
        "embedding/bias": (width,),
        "Transformer/posembed_input/pos_embedding": (1, (image // patch) ** 2 + 1, width),
        "Transformer/encoder_norm/scale": (width,),
        "Transformer/encoder_norm/bias": (width,),
        "head/kernel": (width, CLASSES),
        "head/bias": (CLASSES,),
    }
    for layer in range(depth):
        block = f"Transformer/encoderblock_{layer}"
        for norm in ("LayerNorm_0", "LayerNorm_2"):
            shapes |= {f"{block}/{norm}/scale": (width,), f"{block}/{norm}/bias": (width,)}
        attention = f"{block}/MultiHeadDotProductAttention_1"
        for part in ("query", "key", "value"):
            shapes |= {f"{attention}/{part}/kernel": (width, heads, each), f"{attention}/{part}/bias": (heads, each)}
        shapes |= {f"{attention}/out/kernel": (heads, each, width), f"{attention}/out/bias": (width,)}
        for i, (rows, columns) in enumerate([(width, hidden), (hidden, width)]):
            shapes |= {f"{block}/MlpBlock_3/Dense_{i}/kernel": (rows, columns)}
            shapes |= {f"{block}/MlpBlock_3/Dense_{i}/bias": (columns,)}
    return shapes


def of_flax(image, patch, width, depth, heads):
    """Arrays in the published layout, read by timm's loader."""
    shapes = flax_arrays(image, patch, width, depth, heads)
    model = VisionTransformer(
        img_size=image, patch_size=patch, embed_dim=width, depth=depth, num_heads=heads, num_classes=CLASSES
    ).eval()
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "x.npz", **{name: value(name, shape).numpy() for name, shape in shapes.items()})
        model.load_pretrained(str(Path(folder) / "x.npz"))
    return shapes, {"logits": shown(model, (2, 3, image, image))}, {"images": (2, 3, image, image)}


def of_fitted(arguments):
    """A model of 224 pixels and patches of 16, its weights filtered for another by timm."""
    sizes = {"embed_dim": 16, "depth": 1, "num_heads": 2, "num_classes": CLASSES}
    model = fill(VisionTransformer(img_size=224, patch_size=16, **sizes))
    other = VisionTransformer(**sizes, **arguments).eval()
    state = checkpoint_filter_fn(model.state_dict(), other)
    other.load_state_dict(state)
    shape = (1, 3, *other.patch_embed.img_size)
    made = {"positions": state["pos_embed"][0], "kernels": state["patch_embed.proj.weight"][:4]}
    return model, made | {"logits": shown(other, shape)}, {"images": shape, "arguments": arguments}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: of_torchvision(arguments) for name, arguments in TORCHVISION.items()}
    found |= {name: of_timm(*arguments) for name, arguments in TIMM.items()}
    found |= {name: of_flax(*arguments) for name, arguments in FLAX.items()}
    found |= {name: of_fitted(arguments) for name, arguments in FITTED.items()}
    for name, (model, tensors, about) in found.items():
        shapes = (
            model if isinstance(model, dict) else {key: list(each.shape) for key, each in model.state_dict().items()}
        )
        kept = {key: tensor.contiguous() for key, tensor in tensors.items()}
        told = json.dumps({"shapes": shapes} | about | VERSIONS, sort_keys=True)
        save_file(kept, folder / f"{name}.safetensors", metadata={"recorded": told})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
