"""Small bundles, made and not trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess
from vitlab.models import registry

CLASSES = ("zebra", "ant", "owl", "élan", "old cat")  # not in alphabetical order, on purpose


@pytest.fixture
def made() -> Callable[..., Bundle]:
    """A bundle of one block with weights that matter everywhere; size, channels and card as asked."""

    def make(size: tuple[int, int] = (8, 12), channels: int = 3, **card: Any) -> Bundle:
        blueprint = registry.blueprint("vit_cifar_small_patch4_32").change(
            image=size, channels=channels, classes=len(CLASSES), width=12, depth=1
        )
        model = blueprint.build().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
        mean = tuple(0.1 * (i % 9 + 1) for i in range(channels))
        preprocess = Preprocess(size=size, channels=channels, mean=mean, std=tuple(0.2 + m for m in mean))
        return Bundle(model, Card(blueprint=blueprint, preprocess=preprocess, classes=CLASSES, **card))

    return make


@pytest.fixture
def saved(made: Callable[..., Bundle], tmp_path: Path) -> Path:
    """One of them on disk."""
    made().save(tmp_path / "bundle")
    return tmp_path / "bundle"
