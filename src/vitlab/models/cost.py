"""What a model costs before it runs: parameters by part, multiply-adds, and the memory of training by term.

All of it is counted on the meta device, where nothing is computed or allocated: `flop_counter` sees every matrix
product, and hooks on what autograd saves see every activation.
"""

from collections.abc import Callable

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from vitlab.models.blueprint import Blueprint, Model
from vitlab.parts.attention import CoreModule


class Memory(BaseModel):
    """Bytes of a training step with AdamW, by what holds them."""

    model_config = ConfigDict(frozen=True)

    weights: int
    gradients: int
    optimizer: int
    activations: int
    attention: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.attention


class Cost(BaseModel):
    """Parameters, multiply-adds of one image, and memory of a batch."""

    model_config = ConfigDict(frozen=True)

    parameters: int
    by_part: dict[str, int]
    gmacs: float
    batch: int
    precision: str
    memory: Memory


def cost(blueprint: Blueprint, batch: int = 128, precision: str = "float32") -> Cost:
    """Count a model without building it; `precision` is that of the training step whose memory is counted."""
    with torch.device("meta"):
        model = blueprint.build()
    return Cost(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        by_part={name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()},
        gmacs=_macs(model) / 1e9,
        batch=batch,
        precision=precision,
        memory=_memory(model, batch, precision),
    )


def memory(blueprint: Blueprint, batch: int, precision: str) -> Memory:
    """The memory alone."""
    with torch.device("meta"):
        model = blueprint.build()
    return _memory(model, batch, precision)


def flops(run: Callable[[], object]) -> float:
    """Floating-point operations of the products in a call: two for each multiply-add."""
    with FlopCounterMode(display=False) as counter:
        run()
    return float(counter.get_total_flops())


def _macs(model: Model) -> float:
    with torch.no_grad():
        return flops(lambda: model.eval()(_images(model, 1))) / 2


def _memory(model: Model, batch: int, precision: str) -> Memory:
    """On the meta device, or for bfloat16 on tensors that pretend to be on the CPU: autocast knows no meta device."""
    if precision != "bfloat16":
        return _kept(model.to(getattr(torch, precision)), batch)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.autocast("cpu", torch.bfloat16):
        return _kept(model.to_empty(device="cpu"), batch)


def _kept(model: Model, batch: int) -> Memory:
    """Weights, gradients, two moments, and each tensor saved for the backward pass, counted once.

    What is saved inside an attention core is counted apart: it is what grows with the square of the tokens. It is what
    the plain kernel saves, so where the fused one runs it is an upper bound.
    """
    weights = sum(tensor.nbytes for tensor in model.state_dict().values())
    trained = sum(parameter.nbytes for parameter in model.parameters())
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept = {"activations": 0, "attention": 0}
    inside = "activations"
    seen: dict[int, object] = {}

    def switch(place: str) -> Callable[..., None]:
        def hook(*_: object) -> None:
            nonlocal inside
            inside = place

        return hook

    def save(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in seen and storage._cdata not in own:
            seen[storage._cdata] = storage  # held, so that its address is not given to another
            kept[inside] += storage.nbytes()
        return tensor

    for core in (module for module in model.modules() if isinstance(module, CoreModule)):
        core.register_forward_pre_hook(switch("attention"))
        core.register_forward_hook(switch("activations"))
    with saved_tensors_hooks(save, lambda tensor: tensor):
        model.train()(_images(model, batch))
    return Memory(weights=weights, gradients=trained, optimizer=2 * trained, **kept)


def _images(model: Model, batch: int) -> Tensor:
    weight = next(model.parameters())
    return weight.new_empty(batch, model.blueprint.channels, *model.blueprint.image)
