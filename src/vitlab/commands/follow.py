"""A plan followed to its end: by a run that begins, by one that goes on, in one process or in several."""

import contextlib
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitlab.commands.ending import describe, finish, finished
from vitlab.commands.going_on import alone, check_broken_off, check_same, other_versions
from vitlab.commands.live import drawn
from vitlab.commands.manner import Manner
from vitlab.commands.run import Run, claim
from vitlab.commands.shown import show
from vitlab.data.origin import Origin
from vitlab.errors import Interrupted, UserError
from vitlab.files import sweep
from vitlab.training import cluster

if TYPE_CHECKING:
    from vitlab.models.blueprint import Model
    from vitlab.training.now_and_then import Tell
    from vitlab.training.plan import Plan
    from vitlab.training.resolve import Ready


def begin(ready: "Ready", out: Path | None, manner: Manner) -> Run:
    """A new run: the plan shown and written, then followed."""
    from vitlab.models.cost import cost
    from vitlab.training.estimate import estimate

    plan = ready.plan
    counted = cost(plan.blueprint, plan.micro_batch, plan.machine.precision)
    if not manner.quiet:
        show(plan, estimate(plan, counted.memory))
    folder = claim(out, plan.data.name)
    describe(plan, counted, folder)
    if not manner.quiet:
        print(f"  page     {folder / 'report.html'}  (curves as they come; it draws itself anew)", file=sys.stderr)
    if plan.machine.world > 1 and not cluster.process().started_by_torchrun:
        return _spread(plan, folder, manner)
    with alone(folder):
        return _carry_out(ready, folder, manner)


def go_on(folder: Path, told: dict[str, Any], manner: Manner) -> Run:
    """A run that was broken off, from its last checkpoint, or from the start where there is none yet.

    `told` is what was asked for beside `--resume`; it has to be what the run was planned with.
    """
    mine = cluster.process()
    if mine.rank:  # the first process plans; what it writes is there whole or not at all
        cluster.wait_for((folder / "config.yaml").is_file, folder)
    check_broken_off(folder)
    if finished(folder):  # no mistake: whoever restarts what was killed cannot know
        print(f"  {folder} is finished already; nothing is left to do", file=sys.stderr)
        return Run(folder)

    from vitlab.training.plan import Plan
    from vitlab.training.resolve import replay

    plan = Plan.read(folder / "config.yaml")
    check_same(plan, told, folder)
    cluster.check_world(plan.machine.devices, plan.machine.nodes)
    if plan.machine.world > 1 and not mine.started_by_torchrun:
        return _spread(plan, folder, manner)
    root = told.get("root", plan.data.root)
    origin = Origin(
        str(told.get("data", plan.data.source)),
        None if root is None else Path(root),
        "fetch" in told,
        Path(told["quarantine"]) if "quarantine" in told else None,
    )
    origin.check()
    if mine.rank:
        return _carry_out(replay(plan, origin), folder, replace(manner, tensorboard=False, watch=False))
    with alone(folder):
        sweep(folder)
        if not manner.quiet and (note := other_versions(plan)):
            print(f"  {note}", file=sys.stderr)
        return _carry_out(replay(plan, origin), folder, _as_before(manner, folder))


def _as_before(manner: Manner, folder: Path) -> Manner:
    """What was written beside the run until now is written on."""
    return replace(
        manner,
        tensorboard=manner.tensorboard or (folder / "tensorboard").is_dir(),
        watch=manner.watch or (folder / "watched.csv").is_file(),
    )


def _spread(plan: "Plan", folder: Path, manner: Manner) -> Run:
    """The plan followed by several processes of this machine, each of which goes on with the run as it is written."""
    if manner.watch and plan.machine.strategy == "fsdp":
        raise UserError("--watch looks into whole models, which --strategy fsdp spreads over processes; leave one out")
    try:
        code = cluster.launch(["train", "--resume", str(folder), *manner.words], plan.machine.devices)
    except KeyboardInterrupt:
        raise _stopped(folder, "Ctrl-C", 130) from None
    if code or not finished(folder):
        raise UserError(f"the processes that trained {folder} have ended before it was done; {_advice(folder)} goes on")
    return Run(folder)


def _carry_out(ready: "Ready", folder: Path, manner: Manner) -> Run:
    """The plan followed; what came of it saved, counted and drawn."""
    for split, pictures in ready.splits.items():
        for complaint in pictures.left_out:
            print(f"  left out of {split}: {complaint}", file=sys.stderr)
    if cluster.process().rank:
        with _in_good_order(folder):
            _trained(ready, folder, manner)
            cluster.wait_for(lambda: finished(folder), folder)
        return Run(folder)
    (folder / "evaluation.json").unlink(missing_ok=True)  # with a page and this a run counts as finished
    with drawn(folder) as page, _in_good_order(folder):
        trained = _trained(ready, folder, manner, page.training)
        if (bad := sum(len(pictures.left_out) for pictures in ready.splits.values())) and not manner.quiet:
            print(f"  {bad:,} images could not be used, as named above", file=sys.stderr)
        page.draw("testing")
        return finish(ready.plan, trained, ready.splits["test"], folder)


def _trained(ready: "Ready", folder: Path, manner: Manner, tell: "Tell | None" = None) -> "Model":
    """The model, trained or gone on with to its last step."""
    from vitlab.explain.epochs import FILE, Watch
    from vitlab.training.fit import fit
    from vitlab.training.keeper import Often

    look = None
    if manner.watch and not cluster.process().rank:
        look = Watch(folder / FILE, ready.splits["train"], ready.splits["val"], ready.plan.preprocess)
    often = Often(manner.minutes, manner.steps)
    return fit(ready.plan, ready.splits, folder, manner.quiet, manner.tensorboard, often, look, tell)


@contextlib.contextmanager
def _in_good_order(folder: Path) -> Iterator[None]:
    """A run that is asked to stop says that it has, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        code = getattr(stop, "exit_code", 130)
        raise _stopped(folder, "Ctrl-C" if code == 130 else "SIGTERM", code) from None


def _stopped(folder: Path, by: str, code: int) -> Interrupted:
    return Interrupted(f"stopped by {by}; what was written so far is whole, and {_advice(folder)} goes on", code)


def _advice(folder: Path) -> str:
    return f"`{shlex.join(['vitlab', 'train', '--resume', str(folder)])}`"
