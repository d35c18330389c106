"""All that a run is between two steps, taken out of it and put back: what a checkpoint holds.

Of Lightning's loops only the place is kept, as three numbers: the loops' own records are set from them. The order of
images follows from seed and epoch (`data/order.py`), their variation from seed and step (`data/module.py`).
"""

import random
from collections.abc import Iterator
from typing import Any

import lightning as L
import numpy as np
import torch
from torch import Tensor, distributed, nn

from vitlab.training.average import Average
from vitlab.training.best import KeepBest
from vitlab.training.checkpoint import Checkpoint, State, merged
from vitlab.training.record import Record
from vitlab.training.sharded import fill, whole


class Snapshot:
    """Everything of a run that changes while it trains."""

    def __init__(self, model: nn.Module, average: Average | None, best: KeepBest, record: Record) -> None:
        self.model, self.average, self.best, self.record = model, average, best, record

    def take(self, trainer: L.Trainer, epoch: int, batch: int, complete: bool) -> tuple[State, dict[str, Tensor]]:
        """The state and the tensors; every process has to take part."""
        parts = [
            ("model", {name: whole(tensor) for name, tensor in self.model.state_dict().items()}),
            ("optimizer", dict(_optimizer_state(trainer.optimizers[0], self.model))),
        ]
        if self.average is not None:
            parts.append(("average", {name: whole(tensor) for name, tensor in self.average.values.items()}))
        words, generators = _random_states()
        figures, sums = self.record.stand()
        parts += [("random", generators), ("figures", sums)]
        schedule = trainer.lr_scheduler_configs[0].scheduler.state_dict()
        state = State(
            epoch=epoch,
            batch=batch,
            step=trainer.global_step,
            complete=complete,
            schedule={name: value for name, value in schedule.items() if name != "lr_lambdas"},
            rates=tuple(group["lr"] for group in trainer.optimizers[0].param_groups),
            averaged=self.average.steps if self.average is not None else 0,
            figures=figures,
            best=self.best.found,
            random=words,
        )
        return state, merged(parts)

    def put_back(self, trainer: L.Trainer, kept: Checkpoint) -> None:
        """The run as it stood. Random states come last: whatever was built before has drawn numbers."""
        state = kept.state
        _load(self.model.state_dict(), kept.part("model"))
        if self.average is not None:
            _load(self.average.values, kept.part("average"))
            self.average.steps = state.averaged
        optimizer = trainer.optimizers[0]
        _load_optimizer(optimizer, self.model, kept.part("optimizer"))
        for group, rate in zip(optimizer.param_groups, state.rates, strict=True):
            group["lr"] = rate
        functions = [None] * len(state.rates)  # those of the schedule stay as they were built
        trainer.lr_scheduler_configs[0].scheduler.load_state_dict({**state.schedule, "lr_lambdas": functions})
        self.best.found = state.best
        self.record.go_on(trainer, state.figures, kept.part("figures"))
        _load_random_states(state.random[trainer.global_rank], kept.part("random"), trainer.global_rank)


def place(trainer: L.Trainer, state: State, batches: int) -> None:
    """Set Lightning's loops to where a run stood, before they start; an epoch has so many batches."""
    outer: Any = trainer.fit_loop
    inner = outer.epoch_loop
    begun = 1 if state.batch else 0
    for tracker in (outer.epoch_progress.total, outer.epoch_progress.current):
        tracker.processed = tracker.completed = state.epoch
        tracker.ready = tracker.started = state.epoch + begun
    for tracker, done in (
        (inner.batch_progress.total, state.epoch * batches + state.batch),
        (inner.batch_progress.current, state.batch),
    ):
        tracker.ready = tracker.started = tracker.processed = tracker.completed = done
    steps = inner.automatic_optimization.optim_progress.optimizer.step
    steps.total.ready = steps.total.completed = state.step
    inner._batches_that_stepped = state.step
    outer.restarting = bool(begun)


def _load(into: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    for name, tensor in into.items():
        fill(tensor, values[name])


def _optimizer_state(optimizer: torch.optim.Optimizer, model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """What an optimizer remembers of each parameter, by the parameter's name rather than its place in a list."""
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            yield f"{name}/{key}", whole(torch.as_tensor(value))


def _load_optimizer(optimizer: torch.optim.Optimizer, model: nn.Module, values: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for path, value in values.items():
        name, _, key = path.rpartition("/")
        parameter = parameters[name]
        if value.shape == parameter.shape:
            optimizer.state[parameter][key] = torch.zeros_like(parameter, dtype=value.dtype, requires_grad=False)
            fill(optimizer.state[parameter][key], value)
        else:  # the count of steps
            optimizer.state[parameter][key] = value.to(parameter.device)


def _random_states() -> tuple[tuple[dict[str, Any], ...], dict[str, Tensor]]:
    """Of every process: Python's and numpy's as words, torch's as tensors."""
    _, keys, position, has_gauss, gauss = np.random.get_state()
    version, python, last = random.getstate()
    words = {
        "python": [version, list(python), last],
        "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(gauss)],
    }
    mine = {"torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        mine["cuda"] = torch.cuda.get_rng_state()
    every: list[Any] = [(words, mine)]
    if distributed.is_initialized():
        every = [None] * distributed.get_world_size()
        distributed.all_gather_object(every, (words, mine))
    tensors = {f"{rank}/{name}": t for rank, (_, found) in enumerate(every) for name, t in found.items()}
    return tuple(said for said, _ in every), tensors


def _load_random_states(words: dict[str, Any], tensors: dict[str, Tensor], rank: int) -> None:
    version, python, last = words["python"]
    random.setstate((version, tuple(python), last))
    keys, position, has_gauss, gauss = words["numpy"]
    np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, gauss))
    torch.set_rng_state(tensors[f"{rank}/torch"])
    if f"{rank}/cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors[f"{rank}/cuda"])
