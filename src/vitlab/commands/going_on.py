"""`--resume`: a run that was broken off, opened again as it was planned."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.commands.changes import parse_changes, parse_entries, parse_freeze
from vitlab.errors import UserError
from vitlab.weights.source import full_name

if TYPE_CHECKING:
    from vitlab.training.plan import Plan, Source

# Where data lie, how often to keep and what to print may be other than before: none of it changes what is trained.
# (That data are the same is told by their fingerprint.)
_FREE = ("data", "root", "fetch", "quarantine", "resume", "tensorboard", "quiet", "no_cache", "watch",
         "checkpoint_minutes", "checkpoint_steps")  # fmt: skip


def check_broken_off(folder: Path) -> None:
    """Refuse at once what cannot go on."""
    if not folder.is_dir():
        raise UserError(f"no run at {folder}" if not folder.exists() else f"{folder} is a file; give the run's folder")
    if not (folder / "config.yaml").is_file():
        raise UserError(f"{folder} holds no run that was planned: there is no config.yaml in it; start it anew")


def check_same(plan: "Plan", given: Mapping[str, Any], folder: Path) -> None:
    """What is asked for beside `--resume` or `--plan` has to be what the run was planned with."""
    told = [
        said for name, value in given.items() if name not in _FREE and (said := _differs(plan, name, value, folder))
    ]
    if told:
        raise UserError(
            f"{folder} was planned with {', '.join(told)}; leave out what differs, or start another run with it"
        )


def other_versions(plan: "Plan") -> str:
    """A word of warning where the same steps may round differently now."""
    import torch

    known = plan.machine.versions.get("torch")
    if known in (None, torch.__version__):
        return ""
    return f"planned with torch {known}, trained with {torch.__version__}: the same to rounding, not to the bit"


def _differs(plan: "Plan", name: str, value: Any, folder: Path) -> str:
    """How the plan differs from one setting; empty where it does not."""
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    if name in _WHOLE:
        return "" if _WHOLE[name](plan, value, folder) else f"another {flag} than {_shown(value)}"
    places: dict[str, Any] = {**plan.recipe.model_dump(), **plan.machine.model_dump()}
    places |= {"seed": plan.seed, "accumulate": plan.accumulate}
    return "" if places[name] == value else f"{flag} {_shown(places[name])}, not {_shown(value)}"


def _same_plan(plan: "Plan", value: Any, _: Path) -> bool:
    return plan == type(plan).read(Path(value))


def _same_recipe(plan: "Plan", value: Any, _: Path) -> bool:
    from vitlab.training.recipe import checked

    return checked({**plan.recipe.model_dump(), **parse_entries(value)}, "recipe") == plan.recipe


def _same_source(known: "Source | None", value: Any) -> bool:
    if value in (None, "none"):
        return known is None
    return known is not None and known.path in (str(value), str(Path(value).resolve()), full_name(str(value)))


# Settings that are not one entry of the plan, and whether the plan has them.
_WHOLE: dict[str, Callable[["Plan", Any, Path], bool]] = {
    "out": lambda plan, value, folder: Path(value) == folder,
    "plan": _same_plan,
    "model": lambda plan, value, _: value in (plan.model, plan.blueprint),
    "size": lambda plan, value, _: plan.blueprint.change(image=value).image == plan.blueprint.image,
    "change": lambda plan, value, _: plan.blueprint.change(**parse_changes(value)) == plan.blueprint,
    "from_": lambda plan, value, _: _same_source(plan.start, value),
    "teacher": lambda plan, value, _: _same_source(plan.teacher, value),
    "freeze": lambda plan, value, _: plan.recipe.freeze == parse_freeze(value),
    "temperature": lambda plan, value, _: getattr(plan.recipe.distill, "temperature", None) == value,
    "recipe": lambda plan, value, _: plan.reasons.get("recipe", "").startswith(f"{value!r}:"),
    "entry": _same_recipe,
}


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Two processes that write one run would spoil it. The system lets go of the lock of one that was killed."""
    try:
        import fcntl
    except ImportError:  # where there is no such lock, people have to see to it
        yield
        return
    with (folder / "config.yaml").open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{folder} is being trained by another process; wait for it, or stop it first") from None
        yield


def underway(folder: Path) -> bool:
    """Whether a process of this machine trains the run now."""
    try:
        with alone(folder):
            return False
    except UserError:
        return True
