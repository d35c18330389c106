"""Memory of a training step: what was predicted without computing against the bytes that torch then allocates."""

from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

import vitlab
from vitlab.models.blueprint import Model
from vitlab.models.cost import cost

WITHIN = 0.1


def _allocated(model: Model, images: torch.Tensor, labels: torch.Tensor, precision: str) -> tuple[int, int]:
    """Most bytes at one time in the second step of AdamW; those of weights, gradients and moments alone."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model(images)
        functional.cross_entropy(logits.float(), labels).backward()
        optimizer.step()

    step()
    weights = sum(tensor.nbytes for tensor in model.state_dict().values())
    gradients = sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    state = [value for each in optimizer.state.values() for value in each.values()]
    resident = weights + gradients + sum(value.nbytes for value in state if isinstance(value, torch.Tensor))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        step()
    found = profiled.profiler
    assert found is not None
    assert found.kineto_results is not None
    events = [event for event in found.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return resident + images.nbytes + most, resident


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vit_cifar_small_patch4_32", {"depth": 4}),
        ("vit_cifar_small_patch4_32", {"depth": 4, "dropout": 0.0}),
        ("vit_cifar_patch8_32", {"depth": 2}),
        ("vit_few_patch2_8", {}),
        ("vit_tiny_patch16_224", {"depth": 2, "block__attention__core": "performer"}),
        (
            "vit_tiny_patch16_224",
            {"depth": 6, "block__attention__core": "window", "prefix": {"cls": False}, "pool": "mean"},
        ),
    ],
)
def test_memory_is_predicted_to_a_tenth(name: str, changes: dict[str, Any], precision: str) -> None:
    blueprint, batch = vitlab.blueprint(name).change(**changes), 16
    memory = cost(blueprint, batch, precision).memory
    torch.manual_seed(0)
    images = torch.randn(batch, blueprint.channels, *blueprint.image)
    labels = torch.randint(blueprint.classes, (batch,))
    # The least of three: a first step makes what is made once, and a block is sometimes let go of a moment late.
    measured = [_allocated(blueprint.build().train(), images, labels, precision) for _ in range(3)]
    most, resident = min(measured)
    assert memory.weights + memory.gradients + memory.optimizer == pytest.approx(resident, rel=0.01)
    assert memory.total == pytest.approx(most, rel=WITHIN)
