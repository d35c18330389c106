"""What a plan says of the machine is what the process becomes."""

import subprocess
import sys

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.models.registry import blueprint
from vitlab.parts import kernels
from vitlab.parts.native import library
from vitlab.training import machine
from vitlab.training.fit import fit
from vitlab.training.resolve import Request, resolve

from .test_resume import OFTEN, broken_off

SMALL = blueprint("vit_cifar_patch8_32").change(width=32, depth=1, block__attention__heads=2)


@pytest.fixture(autouse=True)
def _undecided(own_passes, monkeypatch, tmp_path_factory):
    monkeypatch.setattr(kernels, "_chosen", {})
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path_factory.getbasetemp() / "built"))


def resolved(monkeypatch, seconds):
    """With made-up seconds of a step: by precision, and whether ours are used."""

    def pretend(model, images, precision):
        return seconds[precision, library.fits(images)]

    monkeypatch.setattr(machine, "_seconds_a_step", pretend)
    return machine.resolve(SMALL, 4, "cpu", "auto")


def test_the_faster_passes_are_planned_and_taken_up(monkeypatch):
    if library.take_up(machine.cache_folder("native")):
        pytest.skip("no C++ compiler here")
    plan, reasons = resolved(
        monkeypatch,
        {("float32", False): 4.0, ("float32", True): 3.5, ("bfloat16", False): 3.0, ("bfloat16", True): 2.1},
    )
    assert (plan.precision, plan.kernels["cpu passes"], plan.images_per_second) == ("bfloat16", "native", 1.9)
    assert "a step with ours in C++ takes 0.70 of the time" in reasons["kernels"]
    assert library.fits(torch.ones(3))
    library.put_down()
    machine.settle(plan)
    assert library.fits(torch.ones(3))


def test_slower_ones_are_not(monkeypatch):
    plan, _ = resolved(
        monkeypatch,
        {("float32", False): 4.0, ("float32", True): 4.5, ("bfloat16", False): 3.0, ("bfloat16", True): 3.1},
    )
    assert plan.kernels["cpu passes"] == "torch"
    assert not library.fits(torch.ones(3))


def test_without_a_compiler_torchs_are_taken_and_the_plan_says_why(monkeypatch, capsys):
    monkeypatch.setattr(library, "_loaded", None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    plan, reasons = resolved(monkeypatch, {("float32", False): 4.0, ("bfloat16", False): 3.0})
    assert plan.kernels["cpu passes"] == "torch"
    assert reasons["kernels"].endswith("torch's own between products: no C++ compiler is here")
    assert capsys.readouterr().err == ""
    machine.settle(plan.model_copy(update={"kernels": {"cpu passes": "native"}}))
    assert capsys.readouterr().err == (
        "  this plan's own kernels cannot be had, torch's are taken: no C++ compiler is here\n"
    )


def test_a_plan_from_before_there_were_any_runs_without(monkeypatch):
    plan, _ = machine.resolve(SMALL, 2, "cpu", "float32")
    machine.settle(plan.model_copy(update={"kernels": {"cpu float32 17": "fused"}}))
    assert not library.fits(torch.ones(3))
    assert kernels.chosen()["cpu float32 17"] == "fused"


def test_blocks_come_back_without_page_faults():
    """Blocks so large that glibc would fetch each from the system and give it back; 8,192 pages in each."""
    code = (
        "import ctypes, resource; from vitlab.training.allocator import keep_memory\n"
        "libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(8):\n"
        "        block = ctypes.c_void_p(libc.malloc(2**25))\n"
        "        libc.memset(block, 1, 2**25); libc.free(block)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "without = faults(); kept = keep_memory(); faults(); print(int(kept), without, faults())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, without, faults = map(int, done.stdout.split())
    if not kept or without < 8 * 2**13:
        pytest.skip("another allocator than glibc's, or larger pages")
    assert faults < 1000


def test_a_run_with_passes_of_our_own_repeats_and_goes_on_bit_for_bit(tmp_path, monkeypatch):
    if library.take_up(machine.cache_folder("native")):
        pytest.skip("no C++ compiler here")
    small = {"depth": 2, "width": 32, "block__attention__heads": 2, "dropout": 0.1}
    ready = resolve(
        Request(Origin("digits"), changes=small, recipe_changes={"epochs": 1}, precision="float32", threads=1)
    )
    passes = {**ready.plan.machine.kernels, "cpu passes": "native"}
    plan = ready.plan.model_copy(update={"machine": ready.plan.machine.model_copy(update={"kernels": passes})})
    machine.settle(plan.machine)
    assert library.fits(torch.ones(3))
    first, again = (fit(plan, ready.splits, new(tmp_path / name), quiet=True).state_dict() for name in ("one", "two"))
    with monkeypatch.context() as patch:
        broken_off(patch, 13, plan.accumulate)
        with pytest.raises(RuntimeError, match="the power is gone"):
            fit(plan, ready.splits, new(tmp_path / "three"), quiet=True, often=OFTEN)
    torch.manual_seed(99)
    resumed = fit(plan, ready.splits, tmp_path / "three", quiet=True, often=OFTEN).state_dict()
    library.put_down()
    other = fit(plan, ready.splits, new(tmp_path / "four"), quiet=True).state_dict()
    assert all(torch.equal(first[name], again[name]) and torch.equal(first[name], resumed[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])  # torch's masks are others


def new(folder):
    folder.mkdir()
    return folder
