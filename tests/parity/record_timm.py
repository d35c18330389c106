"""Record what timm's Vision Transformer computes: `.venv-peers/bin/python tests/parity/record_timm.py OUT_DIR`.

It runs in the environment that `make peers` makes and must not import vitlab. Each configuration becomes one file:
timm's state dict (`state.*`), a batch of images, the logits, the tokens before the pool, and as metadata the arguments
and versions. A model with `dynamic_img_size` is also shown images of another size.

Weights and pixels are small integers times a power of two: every machine draws the same bits, bfloat16 holds them
without loss (half the bytes), and none of them is the zero or one that would hide a swapped bias, norm or token.
"""

import json
import math
import sys
import zlib
from pathlib import Path

import torch
from safetensors.torch import save_file

try:
    import torchvision
except RuntimeError:  # its wheel finds no compiled operators beside a CPU-only torch; timm needs only their names
    operators = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        operators.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

import timm
from timm.layers import resample_abs_pos_embed
from timm.models.vision_transformer import VisionTransformer

VERSIONS = {"timm": timm.__version__, "torch": torch.__version__, "torchvision": torchvision.__version__}
MINIATURE = {"img_size": 16, "patch_size": 4, "embed_dim": 16, "depth": 2, "num_heads": 2, "num_classes": 10}
CONFIGURATIONS = {
    "patch8": {"img_size": 24, "patch_size": 8, "depth": 3},
    "patch16": {"img_size": 48, "patch_size": 16},
    "patch32": {"img_size": 64, "patch_size": 32, "in_chans": 1},
    "wide": {"embed_dim": 64, "num_heads": 4, "mlp_ratio": 1.5},
    "one_channel": {"img_size": 28, "patch_size": 7, "in_chans": 1},
    "oblong_image": {"img_size": (32, 48), "patch_size": 8},
    "oblong_patch": {"img_size": (24, 32), "patch_size": (4, 16)},
    "mean": {"global_pool": "avg"},
    "mean_of_normed": {"global_pool": "avg", "fc_norm": False},
    "max": {"global_pool": "max"},
    "no_class_token": {"global_pool": "avg", "class_token": False},
    "no_head": {"num_classes": 0},
    "registers": {"reg_tokens": 4, "no_embed_class": True},
    "registers_with_positions": {"reg_tokens": 4},
    "no_positions": {"pos_embed": "none"},
    "no_qkv_bias": {"qkv_bias": False},
    "layer_scale": {"init_values": 0.1},
    "gelu_tanh": {"act_layer": "gelu_tanh"},
    "faint": {},
    "faint_mean": {"global_pool": "avg"},
    "other_size": {"dynamic_img_size": True},
    "other_size_registers": {"dynamic_img_size": True, "reg_tokens": 4, "no_embed_class": True},
}
INTO_STREAM = ("patch_embed.", "pos_embed", "cls_token", "attn.proj.", "mlp.fc2.")
OTHER_SIZE = (20, 8)
GRIDS = [(24, 24), (10, 20), (28, 28)]  # of 16-pixel patches: from 224 pixels to 384, to an oblong, to 448


def draw(shape, spread, generator):
    """Integers of at most 7 bits and a sign, scaled by a power of two to about this standard deviation."""
    steps = torch.randint(-127, 128, tuple(shape), generator=generator)
    return steps * 2.0 ** round(math.log2(spread / 73))  # 73 is the standard deviation of the integers


def fill(model, generator, faint=False):
    """Give every parameter a value that would be missed; faint, tokens so small that the norms' epsilon matters."""
    for name, parameter in model.named_parameters():
        if name.endswith(("norm1.weight", "norm2.weight", "norm.weight")):
            value = 1 + draw(parameter.shape, 0.5, generator)
        elif parameter.dim() in (2, 4):
            value = draw(parameter.shape, parameter[0].numel() ** -0.5, generator)
        else:
            value = draw(parameter.shape, 0.5, generator)
        if faint and any(part in name for part in INTO_STREAM):
            value /= 1024
        parameter.data.copy_(value)


def small(tensor):
    """The same values in half the bytes."""
    half = tensor.detach().bfloat16()
    if not torch.equal(half.float(), tensor):
        raise ValueError("a weight or pixel does not fit bfloat16")
    return half


def record(name, arguments):
    """Everything a comparison needs of one configuration."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))  # a new configuration leaves the others alone
    model = VisionTransformer(**arguments).eval()
    fill(model, generator, faint=name.startswith("faint"))
    size = arguments["img_size"]
    sizes = {"": (size, size) if isinstance(size, int) else size}
    if arguments.get("dynamic_img_size"):
        sizes["other_"] = OTHER_SIZE
    tensors = {f"state.{key}": small(value) for key, value in model.state_dict().items()}
    for which, (height, width) in sizes.items():
        images = draw((2, arguments.get("in_chans", 3), height, width), 1.0, generator)
        with torch.no_grad():
            tensors[f"{which}images"] = small(images)
            tensors[f"{which}tokens"] = model.forward_features(images)
            tensors[f"{which}logits"] = model(images)
    return tensors


def record_positions():
    """A table of positions of a 14x14 grid behind one prefix token, resampled to other grids."""
    table = draw((1, 1 + 14 * 14, 8), 0.5, torch.Generator().manual_seed(0))
    tensors = {f"to {rows}x{columns}": resample_abs_pos_embed(table, (rows, columns))[0] for rows, columns in GRIDS}
    return {"table": table[0], **tensors}


def save(tensors, path, **about):
    """One metadata entry, since several would be written in an order of chance."""
    whole = {key: value.contiguous() for key, value in tensors.items()}
    save_file(whole, path, metadata={"recorded": json.dumps(about | VERSIONS)})


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, changes in CONFIGURATIONS.items():
        arguments = MINIATURE | changes
        save(record(name, arguments), folder / f"{name}.safetensors", name=name, arguments=arguments)
    save(record_positions(), folder / "positions.safetensors", name="positions", old=(14, 14), prefix=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
