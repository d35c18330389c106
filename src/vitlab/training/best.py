"""The epoch with the best validation accuracy: its weights kept, and a run that gets no better stopped."""

from collections.abc import Callable, Mapping
from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from vitlab.training import checkpoint
from vitlab.training.checkpoint import Best, State
from vitlab.training.sharded import whole


class KeepBest(Callback):
    """Writes the weights of each better epoch to `folder`; after `patience` epochs without one it ends the run."""

    def __init__(self, folder: Path, patience: int | None, weights: Callable[[], Mapping[str, Tensor]]) -> None:
        self.path, self.patience, self.weights = folder / checkpoint.BEST, patience, weights
        self.found = Best()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if "val_accuracy" not in trainer.callback_metrics:
            return
        accuracy, epoch = float(trainer.callback_metrics["val_accuracy"]), trainer.current_epoch
        if accuracy > self.found.accuracy:
            self.found = Best(accuracy=accuracy, epoch=epoch)
            tensors = {name: whole(tensor) for name, tensor in self.weights().items()}
            if trainer.is_global_zero:
                checkpoint.check_finite(tensors, f"epoch {epoch + 1}")
                state = State(epoch=epoch + 1, batch=0, step=trainer.global_step, best=self.found)
                checkpoint.save(self.path, checkpoint.merged([("model", tensors)]), state)
        else:
            self.found = self.found.model_copy(update={"waited": self.found.waited + 1})
        if self.patience is not None and self.found.waited >= self.patience:
            trainer.should_stop = True
