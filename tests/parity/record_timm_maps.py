"""Record the attention maps of timm's models: `.venv-peers/bin/python tests/parity/record_timm_maps.py OUT_DIR`.

Weights and images are those of `record_timm.py` (drawn from the configuration's name), so only the maps are kept: what
timm's unfused attention gives its dropout after the softmax, layer by layer.
"""

import sys
import zlib
from pathlib import Path

import torch
from record_timm import CONFIGURATIONS, MINIATURE, draw, fill, save
from timm.models.vision_transformer import VisionTransformer

CHOSEN = ("patch8", "wide", "oblong_image", "mean", "no_class_token", "registers", "no_qkv_bias")


def record(name):
    """The maps of every layer for the images of one configuration."""
    arguments = MINIATURE | CONFIGURATIONS[name]
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    model = VisionTransformer(**arguments).eval()
    fill(model, generator)
    maps = {}
    for layer, block in enumerate(model.blocks):
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_pre_hook(lambda _, given, layer=layer: maps.update({layer: given[0]}))
    size = arguments["img_size"]
    height, width = (size, size) if isinstance(size, int) else size
    with torch.no_grad():
        model(draw((2, arguments.get("in_chans", 3), height, width), 1.0, generator))
    return {f"map.{layer}": found for layer, found in maps.items()}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in CHOSEN:
        save(record(name), folder / f"{name}.safetensors", name=name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
