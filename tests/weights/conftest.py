"""Small models of other libraries with weights that matter everywhere, and real images to show them."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch import nn

import vitlab
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess


def stir(model: nn.Module, seed: int = 0) -> nn.Module:
    """Weights none of which is the zero or one that would hide a swap."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        spread = parameter[0].numel() ** -0.5 if parameter.dim() in (2, 4) else 0.3
        parameter.data += spread * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def pictures() -> list[Image.Image]:
    """Ten scanned digits, one of each, upscaled to sizes and shapes that photographs have."""
    digits = load_digits()
    sizes = [(80, 80), (96, 80), (80, 120), (100, 100), (64, 64), (128, 128), (72, 90), (90, 72), (120, 120), (75, 75)]
    found = []
    for digit, size in zip(range(10), sizes, strict=True):
        pixels = digits.images[digits.target.tolist().index(digit)]
        grey = Image.fromarray((pixels * 15.9375).astype("uint8"))
        found.append(grey.convert("RGB").resize(size, Image.Resampling.BICUBIC))
    return found


@pytest.fixture
def made() -> Callable[..., Bundle]:
    """A bundle of a named model made small, stirred."""

    def make(name: str, *, crop: float = 1.0, shape: str = "keep", classes: tuple[str, ...] = (), **changes) -> Bundle:
        small = {"image": 32, "patch__size": 8, "width": 32, "depth": 2, "block__attention__heads": 4}
        blueprint = vitlab.blueprint(name).change(**(small | {"classes": len(classes)} | changes))
        preprocess = Preprocess(
            size=blueprint.image,
            channels=blueprint.channels,
            mean=(0.4, 0.5, 0.6)[: blueprint.channels],
            std=(0.2, 0.25, 0.3)[: blueprint.channels],
            crop=crop,
            shape=shape,
        )
        return Bundle(stir(blueprint.build()), Card(blueprint=blueprint, preprocess=preprocess, classes=classes))

    return make


def as_bytes(picture: Image.Image) -> bytes:
    held = io.BytesIO()
    picture.save(held, "PNG")
    return held.getvalue()


def same_weights(one: Path, other: Path) -> bool:
    from safetensors.torch import load_file

    mine, theirs = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
