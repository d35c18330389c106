"""Which device, precision and kernels a run uses: asked for, or measured on the model itself."""

import os
import platform
import sys
import time
from contextlib import nullcontext
from importlib.metadata import version

import torch
from torch import nn

from vitlab.errors import UserError
from vitlab.files import cache_folder
from vitlab.models.blueprint import Blueprint
from vitlab.parts import kernels
from vitlab.parts.attention import CoreModule
from vitlab.parts.native import library
from vitlab.training.allocator import keep_memory
from vitlab.training.plan import Machine

_ROUNDS, _ENOUGH = 5, 2.0  # times that a step is measured; seconds after which two have to do
_PASSES = "cpu passes"  # by whose code, among a plan's kernels
WORTH_IT = 1.1  # bfloat16 has to be this much faster: it rounds more


def pick_device(asked: str) -> tuple[str, str]:
    """The device to train on and why; a sentence when the one asked for is not here."""
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if asked == "auto":
        found = next(device for device, there in here.items() if there)
        return found, "the fastest device here" if found != "cpu" else "there is no GPU here"
    if not here[asked]:
        others = " or ".join(device for device in here if here[device])
        raise UserError(f"no {asked} device is here; take {others}, or leave --device out")
    return asked, "asked for"


def resolve(blueprint: Blueprint, batch: int, device: str, precision: str) -> tuple[Machine, dict[str, str]]:
    """Measure what was not asked for, a few seconds on the model itself; the machine's entries and their reasons."""
    reasons: dict[str, str] = {}
    with torch.random.fork_rng(devices=[]):
        model = blueprint.build().to(device)
    images = torch.zeros(min(batch, 64), blueprint.channels, *blueprint.image, device=device)
    if precision == "float64":
        model, images = model.double(), images.double()
    asked = [precision] if precision != "auto" else ["float32", "bfloat16"]
    why_not = library.take_up(cache_folder("native")) if device == "cpu" else "they are for a CPU"
    ways = [(name, own) for name in asked for own in ([False] if why_not or name == "float64" else [False, True])]
    for name in asked:
        _measure_kernels(model, images, name)
    each, taken = dict.fromkeys(ways, float("inf")), 0.0
    for turn in range(_ROUNDS):  # by turns: a machine that slows down slows all
        for name, own in ways:
            with library.used(own):
                taken += (step := _seconds_a_step(model, images, name))
            each[name, own] = min(each[name, own], step)
        if turn and taken > _ENOUGH:
            break
    seconds = {name: min(found for (of, _), found in each.items() if of == name) for name in asked}
    if precision != "auto":
        chosen, reasons["precision"] = precision, "asked for"
    else:
        gain = seconds["float32"] / seconds["bfloat16"]
        chosen = "bfloat16" if gain >= WORTH_IT else "float32"
        reasons["precision"] = f"a step in bfloat16 takes {1 / gain:.2f} of the time of one in float32, measured here"
    found = {place: kernel for place, kernel in kernels.chosen().items() if f" {chosen} " in place}
    if found:
        reasons["kernels"] = "attention kernels measured here at the model's lengths"
    if device == "cpu":
        found[_PASSES], told = _passes(each[chosen, False], each.get((chosen, True)), why_not)
        reasons["kernels"] = "; ".join(filter(None, [reasons.get("kernels"), told]))
    machine = Machine(
        device=device,
        threads=torch.get_num_threads(),
        precision=chosen,
        kernels=found,
        compile=False,
        images_per_second=round(len(images) / seconds[chosen], 2),
        peak_gflops=round(peak(device, chosen) / 1e9, 1),
        versions={
            "vitlab": version("vitlab"),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        },
    )
    reasons["images_per_second"] = f"forward and backward, {len(images)} images at a time, measured here"
    reasons["peak_gflops"] = "the fastest of a few products of square matrices, measured here"
    reasons["compile"] = "not measured yet to pay back within a run"
    settle(machine)
    return machine, reasons


def _passes(theirs: float, ours: float | None, why_not: str) -> tuple[str, str]:
    """Whose code runs between products of matrices, and why."""
    if ours is None:
        return "torch", f"torch's own between products: {why_not or 'ours are not for this precision'}"
    return "native" if ours < theirs else "torch", f"a step with ours in C++ takes {ours / theirs:.2f} of the time"


def settle(machine: Machine) -> None:
    """Make the process what a plan says: its threads, its kernels, its memory kept from one step to the next."""
    torch.set_num_threads(machine.threads)
    kernels.adopt({place: name for place, name in machine.kernels.items() if place != _PASSES})
    library.put_down()
    if machine.kernels.get(_PASSES) == "native" and (why := library.take_up(cache_folder("native"))):
        print(f"  this plan's own kernels cannot be had, torch's are taken: {why}", file=sys.stderr)
    if machine.device == "cpu":
        keep_memory()


def autocast(device: str, precision: str) -> torch.autocast | nullcontext[None]:
    """The context in which a step computes in this precision."""
    return torch.autocast(device, torch.bfloat16) if precision == "bfloat16" else nullcontext()


def peak(device: str, precision: str) -> float:
    """Operations a second of the fastest product of matrices: what no step can exceed, and a good one comes near."""
    best = 0.0
    for side in (512, 1024) if device == "cpu" else (2048, 8192):
        left, right = (torch.ones(side, side, device=device, dtype=getattr(torch, precision)) for _ in range(2))
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            left @ right
            if device == "cuda":
                torch.cuda.synchronize()
            best = max(best, 2 * side**3 / (time.perf_counter() - start))
    return best


def _measure_kernels(model: nn.Module, images: torch.Tensor, precision: str) -> None:
    """Measure attention at each length the model has."""
    seen: set[tuple[int, int, int, float]] = set()

    def note(core: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        q, k = inputs[:2]
        seen.add((k.shape[2], q.shape[1], q.shape[3], getattr(core, "dropout", 0.0)))

    hooks = [m.register_forward_pre_hook(note) for m in model.modules() if isinstance(m, CoreModule)]
    with torch.no_grad():
        model(images[:2])
    for hook in hooks:
        hook.remove()
    for length, heads, width, dropout in sorted(seen):
        kernels.measure(images.device.type, getattr(torch, precision), length, heads, width, len(images), dropout)


def _seconds_a_step(model: nn.Module, images: torch.Tensor, precision: str) -> float:
    """One forward and backward pass."""
    start = time.perf_counter()
    with autocast(images.device.type, precision):
        loss = model(images).float().square().mean()
    loss.backward()
    model.zero_grad()
    if images.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start
