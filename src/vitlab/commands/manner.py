"""How a run is followed: what is printed, written beside it and kept. None of it changes what is trained."""

from dataclasses import dataclass

from vitlab.errors import UserError


@dataclass(frozen=True)
class Manner:
    """What a person asks for at each start of a run, when it begins and when it goes on."""

    quiet: bool = False
    tensorboard: bool = False
    watch: bool = False
    minutes: float = 5.0  # from one checkpoint to the next
    steps: int | None = None

    def check(self) -> None:
        """Refuse checkpoints that could not be."""
        if not self.minutes > 0:
            raise UserError(f"--checkpoint-minutes wants more than 0, not {self.minutes:g}")
        if self.steps is not None and self.steps < 1:
            raise UserError(f"--checkpoint-steps wants at least 1, not {self.steps}")

    @property
    def words(self) -> list[str]:
        """The flags that say the same to another process."""
        flags = {"--tensorboard": self.tensorboard, "--watch": self.watch, "--quiet": self.quiet}
        steps = [] if self.steps is None else ["--checkpoint-steps", str(self.steps)]
        return ["--checkpoint-minutes", str(self.minutes), *steps, *(flag for flag, wanted in flags.items() if wanted)]
