"""A plan carried out: the model trained, checkpoints and metrics left in the run's folder."""

import contextlib
import logging
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint, WeightAveraging
from torch.optim.swa_utils import get_ema_multi_avg_fn

from vitlab.data.memory import Pictures
from vitlab.data.module import DataModule
from vitlab.data.order import BalancedBatches, RepeatedBatches, ShuffledBatches
from vitlab.files import saying_why
from vitlab.models.blueprint import Model
from vitlab.training.learner import Learner
from vitlab.training.objectives.supervised import Supervised
from vitlab.training.plan import Plan
from vitlab.training.progress import Watch
from vitlab.training.record import Record
from vitlab.training.tensorboard import Events

_PRECISION = {"float32": "32-true", "bfloat16": "bf16-mixed"}


def fit(plan: Plan, splits: dict[str, Pictures], folder: Path, quiet: bool = False, tensorboard: bool = False) -> Model:
    """Train as planned. The model returned has the weights to use: the moving average where there is one.

    The last epoch's weights are taken, where the schedule has come to rest; a run that stopped early takes its best.
    """
    with _quiet_lightning(), _interruptible(), saying_why(folder):
        L.seed_everything(plan.seed, verbose=False)
        model = plan.blueprint.build()
        learner = Learner(
            model,
            Supervised(plan.recipe.smoothing),
            plan.recipe,
            plan.steps,
            products=getattr(torch, plan.machine.precision),
        )
        data = DataModule(splits, _order(plan, splits["train"]), plan.preprocess, plan.augment, len(plan.data.classes))
        record = Record(folder / "metrics.csv")
        last = ModelCheckpoint(folder / "checkpoints", "last", enable_version_counter=False)
        best = ModelCheckpoint(
            folder / "checkpoints", "best", monitor="val_accuracy", mode="max", enable_version_counter=False
        )
        callbacks: list[Callback] = [record, last, best]
        if plan.recipe.ema is not None:
            callbacks.insert(0, WeightAveraging(multi_avg_fn=get_ema_multi_avg_fn(plan.recipe.ema)))
        if plan.recipe.patience is not None:
            callbacks.append(EarlyStopping("val_accuracy", mode="max", patience=plan.recipe.patience))
        if tensorboard:
            callbacks.append(Events(folder / "tensorboard", record))
        if not quiet:
            callbacks.append(Watch(record))
        trainer = L.Trainer(
            accelerator=plan.machine.device,
            devices=1,
            precision=_PRECISION[plan.machine.precision],  # type: ignore[arg-type]
            max_epochs=plan.recipe.epochs,
            accumulate_grad_batches=plan.accumulate,
            callbacks=callbacks,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            default_root_dir=folder,
        )
        trainer.fit(learner, datamodule=data)
        if trainer.current_epoch < plan.recipe.epochs and best.best_model_path:
            learner.load_state_dict(
                torch.load(best.best_model_path, weights_only=True, map_location="cpu")["state_dict"]
            )
    return model.cpu().eval()


def _order(plan: Plan, train: Pictures) -> ShuffledBatches:
    """The order of training images that the recipe asks for."""
    if plan.recipe.balanced:
        return BalancedBatches(train.labels, plan.micro_batch, plan.seed)
    if plan.recipe.repeats > 1:
        return RepeatedBatches(len(train), plan.micro_batch, plan.seed, plan.recipe.repeats)
    return ShuffledBatches(len(train), plan.micro_batch, plan.seed)


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
