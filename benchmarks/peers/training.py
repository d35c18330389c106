"""One contestant of `benchmarks/step.py` in a process of its own: a model and its training step, timed when told to.

    python benchmarks/peers/training.py LIBRARY DTYPE MODEL    (LIBRARY: vitlab, timm, transformers, vit-pytorch)

A line on standard input asks for a step; a line of JSON answers with its seconds. Each imports its own library alone,
so that it runs in the environment that has it. Every step is the same: fused AdamW, cross-entropy, a batch of 128.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

BATCH, DROPOUT, CLASSES, THREADS = 128, 0.1, 10, 2
# Side of the image, patch, width, depth, heads.
SHAPES = {"vit_cifar_small_patch4_32": (32, 4, 192, 12, 3), "vit_cifar_patch8_32": (32, 8, 512, 6, 4)}
Logits = Callable[[Tensor], Tensor]


def declare_torchvision() -> None:
    """torchvision's wheel wants two operators declared beside a CPU-only torch, or it does not import."""
    global declared
    declared = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        declared.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def vitlab(name: str) -> tuple[nn.Module, Logits]:
    """Ours, as its blueprint has it, with the kernels that a plan of `vitlab train` would measure and take up."""
    from vitlab.models.registry import create
    from vitlab.training.machine import resolve

    model = create(name)
    assert model.blueprint.dropout == DROPOUT
    _, reasons = resolve(model.blueprint, BATCH, "cpu", "bfloat16")
    print(f"{name}: {reasons['kernels']}", file=sys.stderr)
    return model, model


def timm(name: str) -> tuple[nn.Module, Logits]:
    """timm's."""
    declare_torchvision()
    from timm.models.vision_transformer import VisionTransformer

    side, patch, width, depth, heads = SHAPES[name]
    model = VisionTransformer(
        img_size=side, patch_size=patch, embed_dim=width, depth=depth, num_heads=heads, num_classes=CLASSES,
        proj_drop_rate=DROPOUT, attn_drop_rate=DROPOUT,
    )  # fmt: skip
    return model, model


def transformers(name: str) -> tuple[nn.Module, Logits]:
    """transformers', whose MLP has one dropout where the others have two."""
    from transformers import ViTConfig, ViTForImageClassification

    side, patch, width, depth, heads = SHAPES[name]
    model = ViTForImageClassification(
        ViTConfig(
            image_size=side, patch_size=patch, hidden_size=width, num_hidden_layers=depth, num_attention_heads=heads,
            intermediate_size=4 * width, num_labels=CLASSES, hidden_dropout_prob=DROPOUT,
            attention_probs_dropout_prob=DROPOUT,
        )
    )  # fmt: skip
    return model, lambda images: model(images).logits


def vit_pytorch(name: str) -> tuple[nn.Module, Logits]:
    """vit-pytorch's."""
    declare_torchvision()
    from vit_pytorch import ViT

    side, patch, width, depth, heads = SHAPES[name]
    model = ViT(
        image_size=side, patch_size=patch, num_classes=CLASSES, dim=width, depth=depth, heads=heads,
        mlp_dim=4 * width, dim_head=width // heads, dropout=DROPOUT,
    )  # fmt: skip
    return model, model


LIBRARIES = {"vitlab": vitlab, "timm": timm, "transformers": transformers, "vit-pytorch": vit_pytorch}


def main(library: str, dtype: str, name: str) -> None:
    """Answer each line of standard input with a step."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model, logits = LIBRARIES[library](name)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    images, labels = torch.randn(BATCH, 3, 32, 32), torch.randint(0, CLASSES, (BATCH,))
    for _ in sys.stdin:
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = functional.cross_entropy(logits(images).float(), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "peak": peak}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
