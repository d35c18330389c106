"""A plan carried out: the model trained, checkpoints and metrics left in the run's folder."""

import contextlib
import logging
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from vitlab.data.feed.feed import Feed
from vitlab.data.module import DataModule
from vitlab.data.order import BalancedBatches, NearbyBatches, RepeatedBatches, Share, ShuffledBatches
from vitlab.errors import Interrupted
from vitlab.files import saying_why, sweep
from vitlab.models.blueprint import Model
from vitlab.training import checkpoint
from vitlab.training.adapters import adapt, merge
from vitlab.training.average import Average
from vitlab.training.best import KeepBest
from vitlab.training.checkpoint import Checkpoint
from vitlab.training.cluster import process
from vitlab.training.each_epoch import EachEpoch, Look
from vitlab.training.halt import Halt, Halted
from vitlab.training.keeper import OFTEN, Keeper, Often
from vitlab.training.learner import Learner
from vitlab.training.now_and_then import NowAndThen, Tell
from vitlab.training.objectives.chosen import objective
from vitlab.training.plan import Plan
from vitlab.training.progress import Watch
from vitlab.training.record import Record
from vitlab.training.snapshot import Snapshot
from vitlab.training.start import begin
from vitlab.training.strategy import settings
from vitlab.training.tensorboard import Events
from vitlab.training.time_left import TimeLeft
from vitlab.training.work import Work


class Beside(NamedTuple):
    """What is done beside a training; none of it changes what is trained."""

    quiet: bool
    tensorboard: bool
    often: Often
    look: Look | None
    tell: Tell | None


# Weights of 64 bits are made before Lightning sees them: it would not share them out.
_PRECISION = {"float32": "32-true", "bfloat16": "bf16-mixed", "float64": "32-true"}


def fit(
    plan: Plan,
    splits: dict[str, Feed],
    folder: Path,
    quiet: bool = False,
    tensorboard: bool = False,
    often: Often = OFTEN,
    look: Look | None = None,
    tell: Tell | None = None,
) -> Model:
    """Train as planned, from where the folder's last checkpoint was written if it has one.

    The model returned has the weights to use: the moving average where there is one, of the last epoch, where the
    schedule has come to rest; a run that stopped early takes its best.
    `look` is called with the model in each epoch, `tell` every few seconds with where the run stands.
    """
    kept = folder / "checkpoints"
    with _quiet_lightning(), _interruptible(), saying_why(folder):
        kept.mkdir(exist_ok=True)
        if process().rank == 0:
            sweep(kept)
        resumed = checkpoint.newest(kept)
        for complaint in resumed.passed_over if resumed else ():
            print(f"  passed over: {complaint}", file=sys.stderr)
        if resumed is None or not resumed.state.complete:
            _train(plan, splits, folder, resumed, Beside(quiet, tensorboard, often, look, tell))
        return _finished(plan, kept)


def _train(plan: Plan, splits: dict[str, Feed], folder: Path, resumed: Checkpoint | None, beside: Beside) -> None:
    """All steps that are left; the last thing written is a checkpoint that says so."""
    L.seed_everything(plan.seed, verbose=False)
    model = begin(plan, splits["train"]) if resumed is None else plan.blueprint.build()
    if plan.machine.precision == "float64":
        model.double()
    learner = Learner(
        model,
        objective(plan, splits["train"]),
        plan.recipe,
        plan.steps,
        products=getattr(torch, plan.machine.precision),
    )
    order = _order(plan, splits["train"])
    if resumed is not None:
        order.set_epoch(resumed.state.epoch)
        order.start_at(resumed.state.epoch, resumed.state.batch)
    elif process().rank == 0:
        (folder / "metrics.csv").unlink(missing_ok=True)  # of an attempt that came to no checkpoint
    record, halt = Record(folder / "metrics.csv"), Halt()
    average = Average(model, plan.recipe.ema) if plan.recipe.ema is not None else None
    best = KeepBest(
        folder / "checkpoints", plan.recipe.patience, lambda: average.values if average else model.state_dict()
    )
    run = Snapshot(model, average, best, record)
    callbacks: list[Callback] = [average] if average else []
    callbacks += [record, best, Keeper(folder / "checkpoints", run, order, beside.often, halt, resumed)]
    if beside.look is not None:
        callbacks.append(EachEpoch(beside.look, model))
    if process().rank == 0:
        callbacks += _shown(plan, record, folder / "tensorboard", resumed, beside)
    trainer = L.Trainer(
        accelerator=plan.machine.device,
        **settings(plan.machine),
        precision=_PRECISION[plan.machine.precision],  # type: ignore[arg-type]
        max_epochs=plan.recipe.epochs,
        accumulate_grad_batches=plan.accumulate,
        limit_train_batches=plan.batches,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=folder,
    )
    data = DataModule(splits, order, plan.preprocess, plan.augment, len(plan.data.classes), plan.feeding.taken)
    with halt.listening():
        try:
            trainer.fit(learner, datamodule=data)
        except Halted:
            raise Interrupted("stopped as asked", halt.code) from None


def _shown(plan: Plan, record: Record, events: Path, resumed: Checkpoint | None, beside: Beside) -> Iterator[Callback]:
    """What lets a person follow the run; each comes after the record whose figures it shows."""
    if beside.tensorboard:
        yield Events(events, record, resumed.state.step if resumed else None)
    if beside.quiet and beside.tell is None:
        return
    left = TimeLeft(Work(plan.blueprint, plan.recipe))
    yield left
    if not beside.quiet:
        yield Watch(record, left, plan)
    if beside.tell is not None:
        yield NowAndThen(beside.tell, left)


def _finished(plan: Plan, kept: Path) -> Model:
    """The model with the weights to use, from the checkpoint of a training that came to its end."""
    last = checkpoint.newest(kept)
    assert last is not None
    assert last.state.complete
    model = plan.blueprint.build()
    if plan.recipe.lora is not None:
        adapt(model, plan.recipe.lora)
    early = last.state.epoch < plan.recipe.epochs and (kept / checkpoint.BEST).is_file()
    found = checkpoint.read(kept / checkpoint.BEST) if early else last
    model.load_state_dict(found.part("average") or found.part("model"))
    return (model if plan.recipe.lora is None else merge(model)).eval()


def _order(plan: Plan, train: Feed) -> ShuffledBatches:
    """The order of training images that the recipe asks for, and what of each batch is this process's."""
    mine = process()
    share = Share(mine.rank, mine.world)
    if plan.recipe.balanced:
        return BalancedBatches(train.labels, plan.micro_batch, plan.seed, share)
    if plan.recipe.repeats > 1:
        return RepeatedBatches(len(train), plan.micro_batch, plan.seed, plan.recipe.repeats, share)
    if plan.feeding.train == "stream" and train.parts is not None:
        return NearbyBatches(train.parts, plan.micro_batch, plan.seed, share)
    return ShuffledBatches(len(train), plan.micro_batch, plan.seed, share)


@contextlib.contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Lightning's greetings and tips left out: what a run decided is in its plan."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C stays Ctrl-C: Lightning turns it into an exit and leaves the signal ignored."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as exit_:
        raise KeyboardInterrupt from exit_
    finally:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, before)
