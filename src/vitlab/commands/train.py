"""vitlab train: a model trained on images, with a bundle and a page left behind."""

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vitlab.commands.changes import parse_changes, parse_entries, parse_freeze
from vitlab.commands.ending import describe, finish, finished
from vitlab.commands.flags import (
    Begin,
    Changes,
    Freeze,
    MaybeData,
    MaybeFloat,
    MaybeInt,
    MaybeModel,
    MaybePath,
    Model,
    Switch,
)
from vitlab.commands.going_on import alone, check_broken_off, check_same, other_versions
from vitlab.commands.run import Run, check_free, claim
from vitlab.commands.shown import plan_rows
from vitlab.commands.spell import given, spell
from vitlab.data.origin import Origin
from vitlab.errors import Interrupted, UserError
from vitlab.files import check_writable, sweep
from vitlab.training import cluster
from vitlab.weights.source import check_source

if TYPE_CHECKING:
    from vitlab.training.plan import Plan
    from vitlab.training.resolve import Ready


def train(
    data: MaybeData = None,
    /,
    *,
    root: MaybePath = None,
    fetch: Switch = False,
    quarantine: MaybePath = None,
    model: Model = "auto",
    from_: Begin = "auto",
    freeze: Freeze = None,
    lora: MaybeInt = None,
    teacher: MaybeModel = None,
    temperature: MaybeFloat = None,
    size: MaybeInt = None,
    change: Changes = (),
    recipe: str = "auto",
    entry: Changes = (),
    epochs: MaybeInt = None,
    batch: MaybeInt = None,
    rate: MaybeFloat = None,
    weight_decay: MaybeFloat = None,
    warmup: MaybeFloat = None,
    smoothing: MaybeFloat = None,
    dropout: MaybeFloat = None,
    drop_path: MaybeFloat = None,
    ema: MaybeFloat = None,
    patience: MaybeInt = None,
    accumulate: MaybeInt = None,
    seed: int = 0,
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto",
    precision: Literal["auto", "float32", "bfloat16", "float64"] = "auto",
    threads: MaybeInt = None,
    devices: MaybeInt = None,
    nodes: MaybeInt = None,
    strategy: Literal["auto", "ddp", "fsdp"] = "auto",
    no_cache: Switch = False,
    plan: MaybePath = None,
    out: MaybePath = None,
    resume: MaybePath = None,
    checkpoint_minutes: float = 5.0,
    checkpoint_steps: MaybeInt = None,
    tensorboard: Switch = False,
    watch: Switch = False,
    quiet: Switch = False,
) -> Run:
    """Train a model on images and leave a run's folder: bundle, metrics, checkpoints and a page about it.

    Args:
        data: digits, cifar10, cifar100, mnist or fashion-mnist; a folder with one folder of images for each class (with
            or without train, val, test above); a list of files (CSV or Parquet: path, label and perhaps split);
            images inside Parquet files, or in a data set that `datasets` has saved; WebDataset shards (a tar file, a
            folder of them, or a pattern in quotes such as 'pets-{0000..0099}.tar'); or hf:NAME[:CONFIG], a data set of
            the Hugging Face hub.
        root: Folder with the files of a data set known by name; $VITLAB_DATA or data/ if not given.
        fetch: Get those files from their published address where they are missing.
        quarantine: A list of files to leave out, as `vitlab check DATA --quarantine FILE` writes it.
        model: A name from `vitlab models` (or in Python a blueprint), or `auto`: by size and number of the images.
        from_: Trained weights to begin with (in Python `from_`): a run, a bundle, another library's file, a hub name;
            none; or `auto`: where --model is left to `auto` too and the images suit it, a pretrained model from the
            cache, or from the hub if it answers.
        freeze: Leave the stem and so many blocks as they are, or `all` but the head.
        lora: Let matrices of this rank learn beside the blocks' weights, which stay as they are, and the head.
        teacher: A trained model of any kind, whose answers the model learns beside the labels.
        temperature: Learn all of the teacher's probabilities, softened so; its likeliest class if not given.
        size: Side of the images in pixels, where not the model's own.
        change: Parts of the model to change, such as pool=mean or block.attention.core=performer.
        recipe: few, grey, cifar, compact, finetune, imagenet, or `auto`. What follows changes one entry of it.
        entry: Entries of the recipe that have no flag here, such as optimizer=muon or decay=linear.
        epochs: Times that every training image is seen.
        batch: Images a step of the optimizer.
        rate: Learning rate at the top of the schedule.
        weight_decay: On matrices alone.
        warmup: Steps of warmup, or below 1 their share of all steps.
        smoothing: Label smoothing.
        dropout: In attention, projections and MLPs.
        drop_path: Stochastic depth of the last block.
        ema: Decay of the moving average of the weights, the weights that the bundle gets.
        patience: Stop after so many epochs without a better validation accuracy, and take the best.
        accumulate: Parts in which a batch is computed, to save memory.
        seed: Of everything random; the same seed and plan repeat a run.
        device: Where to train.
        precision: float32, bfloat16, or `auto`: the faster one, measured. float64 is for comparing to the last digit.
        threads: CPU threads of a process.
        devices: Processes on each machine, one for each GPU, or sharing the CPU; 1, or what torchrun has started.
        nodes: Machines, each with a torchrun of its own; see docs/cluster.md.
        strategy: ddp: every process has all weights; fsdp: each has a share of them, for models that are too large.
        no_cache: Keep no decoded images on disk; they are otherwise below $VITLAB_CACHE or the system's cache folder.
        plan: The config.yaml of another run, to repeat it exactly.
        out: The run's folder; the next free one under runs/ if not given.
        resume: The folder of a run that was broken off, to go on from its last checkpoint as it was planned.
        checkpoint_minutes: Keep where the run stands after so many minutes; Ctrl-C and SIGTERM keep it too.
        checkpoint_steps: And after so many steps.
        tensorboard: Write event files for TensorBoard too.
        watch: Write down in each epoch how far attention looks and what each layer knows; `vitlab explain RUN
            --model` draws it.
        quiet: Print no plan and no progress.
    """
    often, told = _check_often(checkpoint_minutes, checkpoint_steps), given(train, locals())
    if resume is not None:
        return _go_on(Path(resume), told, quiet, tensorboard, watch, often)
    if data is None:
        raise UserError("train wants DATA; `vitlab train --help` says what that is")
    data = str(data)
    from_ = "none" if from_ is None else from_
    command = spell(train, locals())
    mine = cluster.process()
    if mine.started_by_torchrun and out is None:
        raise UserError("torchrun starts processes that have to agree on a folder; say which with --out")
    if mine.rank or (mine.restarts and (Path(str(out)) / "config.yaml").is_file()):
        return _go_on(Path(str(out)), {}, quiet, tensorboard, watch, often)
    changed = {
        "epochs": epochs, "batch": batch, "rate": rate, "weight_decay": weight_decay, "warmup": warmup, "ema": ema,
        "smoothing": smoothing, "dropout": dropout, "drop_path": drop_path, "patience": patience,
        "freeze": parse_freeze(freeze), "lora": lora,
    }  # fmt: skip
    flags: dict[str, Any] = {name: value for name, value in changed.items() if value is not None}
    if temperature is not None:
        flags["distill"] = {"kind": "soft", "temperature": temperature}
    recipe_changes = {**parse_entries(entry), **flags}
    _check_recipe(recipe, recipe_changes, flags)
    counts = {"size": size, "accumulate": accumulate, "threads": threads, "devices": devices, "nodes": nodes}
    for flag, value in counts.items():
        if value is not None and value < 1:
            raise UserError(f"--{flag} wants at least 1, not {value}")
    devices = devices or mine.on_this_machine
    nodes = nodes or mine.world // mine.on_this_machine
    cluster.check_world(devices, nodes)
    if not 0 <= seed < 2**31:
        raise UserError(f"--seed wants a whole number from 0 to {2**31 - 1}, not {seed}")
    changes = parse_changes(change)
    start = None if from_ == "none" else str(from_)
    begun = start not in (None, "auto")
    if begun and (model != "auto" or changes):
        raise UserError("the model is that of --from; leave --model and --change out")
    for known in (start if begun else None, teacher):
        if known is not None:
            check_source(str(known))
    if not begun and recipe_changes.get("lora") is not None:
        raise UserError("--lora is for a trained model; name one with --from")
    if temperature is not None and teacher is None:
        raise UserError("--temperature is for a teacher's answers; name one with --teacher")
    without = None if quarantine is None else Path(quarantine)
    origin = Origin(data, None if root is None else Path(root), fetch, without)
    origin.check()
    if plan is not None and not Path(plan).is_file():
        raise UserError(f"no plan at {plan}; give the config.yaml of a run")
    folder = None if out is None else Path(out)
    if folder is None:
        check_writable(Path("runs"))
    else:
        check_free(folder)

    from vitlab.training.plan import Plan
    from vitlab.training.resolve import Request, replay, resolve

    if plan is not None:
        planned = Plan.read(Path(plan))
        check_same(planned, {name: value for name, value in told.items() if name not in ("plan", "out")}, Path(plan))
        if not quiet and (note := other_versions(planned)):
            print(f"  {note}", file=sys.stderr)
        ready = replay(planned, origin)
    else:
        ready = resolve(
            Request(
                origin=origin,
                model=model,
                start=start,
                teacher=None if teacher is None else str(teacher),
                size=size,
                changes=changes,
                recipe=recipe,
                recipe_changes=recipe_changes,
                accumulate=accumulate,
                seed=seed,
                device=device,
                precision=precision,
                threads=threads,
                devices=devices,
                nodes=nodes,
                strategy=strategy,
                command=command,
                cached=not no_cache,
            )
        )
    return _begin(ready, folder, quiet, tensorboard, watch, often)


def _check_often(minutes: float, steps: int | None) -> tuple[float, int | None]:
    if not minutes > 0:
        raise UserError(f"--checkpoint-minutes wants more than 0, not {minutes:g}")
    if steps is not None and steps < 1:
        raise UserError(f"--checkpoint-steps wants at least 1, not {steps}")
    return minutes, steps


def _check_recipe(name: str, changes: dict[str, Any], flags: Iterable[str]) -> None:
    """Refuse an unknown recipe and a figure out of range, before anything heavy is imported."""
    from vitlab.training.recipe import recipe

    recipe("few" if name == "auto" else name, changes, flags)


def _begin(
    ready: "Ready", out: Path | None, quiet: bool, tensorboard: bool, watch: bool, often: tuple[float, int | None]
) -> Run:
    """A new run: the plan shown and written, then followed."""
    from vitlab.models.cost import cost
    from vitlab.training.estimate import estimate

    plan = ready.plan
    counted = cost(plan.blueprint, plan.micro_batch, plan.machine.precision)
    if not quiet:
        print(plan_rows(plan, estimate(plan, counted.memory)), file=sys.stderr)
    folder = claim(out, plan.data.name)
    describe(plan, counted, folder)
    if plan.machine.world > 1 and not cluster.process().started_by_torchrun:
        return _spread(plan, folder, quiet, tensorboard, watch, often)
    with alone(folder):
        return _carry_out(ready, folder, quiet, tensorboard, watch, often)


def _go_on(
    folder: Path, told: dict[str, Any], quiet: bool, tensorboard: bool, watch: bool, often: tuple[float, int | None]
) -> Run:
    """A run that was broken off, from its last checkpoint, or from the start where there is none yet."""
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
        return _spread(plan, folder, quiet, tensorboard, watch, often)
    root = told.get("root", plan.data.root)
    origin = Origin(
        str(told.get("data", plan.data.source)),
        None if root is None else Path(root),
        "fetch" in told,
        Path(told["quarantine"]) if "quarantine" in told else None,
    )
    origin.check()
    if mine.rank:
        return _carry_out(replay(plan, origin), folder, quiet, False, False, often)
    with alone(folder):
        sweep(folder)
        if not quiet and (note := other_versions(plan)):
            print(f"  {note}", file=sys.stderr)
        tensorboard = tensorboard or (folder / "tensorboard").is_dir()
        watch = watch or (folder / "watched.csv").is_file()
        return _carry_out(replay(plan, origin), folder, quiet, tensorboard, watch, often)


def _spread(
    plan: "Plan", folder: Path, quiet: bool, tensorboard: bool, watch: bool, often: tuple[float, int | None]
) -> Run:
    """The plan followed by several processes of this machine, each of which goes on with the run as it is written."""
    if watch and plan.machine.strategy == "fsdp":
        raise UserError("--watch looks into whole models, which --strategy fsdp spreads over processes; leave one out")
    minutes, steps = often
    words = ["train", "--resume", str(folder), "--checkpoint-minutes", str(minutes)]
    words += ["--checkpoint-steps", str(steps)] if steps else []
    words += ["--tensorboard"] * tensorboard + ["--watch"] * watch + ["--quiet"] * quiet
    try:
        code = cluster.launch(words, plan.machine.devices)
    except KeyboardInterrupt:
        raise _stopped(folder, "Ctrl-C", 130) from None
    if code or not finished(folder):
        raise UserError(f"the processes that trained {folder} have ended before it was done; {_advice(folder)} goes on")
    return Run(folder)


def _carry_out(
    ready: "Ready", folder: Path, quiet: bool, tensorboard: bool, watch: bool, often: tuple[float, int | None]
) -> Run:
    """The plan followed; what came of it saved, counted and drawn."""
    from vitlab.explain.epochs import FILE, Watch
    from vitlab.training.fit import fit
    from vitlab.training.keeper import Often

    for split, pictures in ready.splits.items():
        for complaint in pictures.left_out:
            print(f"  left out of {split}: {complaint}", file=sys.stderr)
    try:
        look = None
        if watch and not cluster.process().rank:
            look = Watch(folder / FILE, ready.splits["train"], ready.splits["val"], ready.plan.preprocess)
        trained = fit(ready.plan, ready.splits, folder, quiet, tensorboard, Often(*often), look)
        if cluster.process().rank:
            cluster.wait_for(lambda: finished(folder), folder)
            return Run(folder)
        if (bad := sum(len(pictures.left_out) for pictures in ready.splits.values())) and not quiet:
            print(f"  {bad:,} images could not be used, as named above", file=sys.stderr)
        return finish(ready.plan, trained, ready.splits["test"], folder)
    except KeyboardInterrupt as stop:
        code = getattr(stop, "exit_code", 130)
        raise _stopped(folder, "Ctrl-C" if code == 130 else "SIGTERM", code) from None


def _stopped(folder: Path, by: str, code: int) -> Interrupted:
    return Interrupted(f"stopped by {by}; what was written so far is whole, and {_advice(folder)} goes on", code)


def _advice(folder: Path) -> str:
    return f"`{shlex.join(['vitlab', 'train', '--resume', str(folder)])}`"
