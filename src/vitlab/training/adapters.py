"""LoRA (Hu et al. 2022): what a trained model knows stays as it is, and small matrices beside its linear layers learn.

    y = W x + b + (scale / rank) B A x        A: rank x inputs, B: outputs x rank, which begins at zero

Every linear layer of the blocks gets such a pair, through peft; the head learns whole. After the run W + (scale / rank)
B A takes the place of W, so that the model left behind is of the same kind as the one it began with.
"""

import importlib.util
from typing import Any

import torch
from torch import nn

from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint, Model

_SCALE = 2  # times the rank, as is usual: the factor before B A is then 2 for every rank


def check_adapters(blueprint: Blueprint) -> None:
    """One sentence where the library is missing, or there is nothing to put adapters beside."""
    if importlib.util.find_spec("peft") is None:
        raise UserError("--lora needs peft; pip install 'vitlab[lora]' brings it, or leave --lora out")
    with torch.device("meta"):
        if not _linear(blueprint.build()):
            raise UserError(
                f"the blocks of {blueprint.name} have no linear layers for adapters to stand beside; leave --lora out"
            )


def adapt(model: Model, rank: int) -> list[nn.Module]:
    """Put adapters into the blocks; only they and the head learn. What is left frozen, outside the blocks."""
    from peft import LoraConfig, inject_adapter_in_model

    layers = model.layers
    head = {id(parameter) for module in layers.head for parameter in module.parameters()}
    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=_SCALE * rank, target_modules=_linear(model)), model)
    for parameter in model.parameters():  # peft has switched off all but its own
        if id(parameter) in head:
            parameter.requires_grad_(True)
    still = [*layers.stem, *layers.last]
    for module in still:
        module.eval()
    return still


def merge(model: Model) -> Model:
    """The same model without adapters: what they have learned added to the weights that they stand beside."""
    from peft.tuners.lora import LoraLayer

    for name, module in list(model.named_modules()):
        if isinstance(module, LoraLayer):
            layer: Any = module
            layer.merge(safe_merge=True)
            model.set_submodule(name, layer.get_base_layer())
    return model.requires_grad_(True)


def _linear(model: Model) -> list[str]:
    """Names of the linear layers of the blocks."""
    inside = {id(module) for block in model.layers.blocks for module in block.modules()}
    return [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and id(module) in inside]
