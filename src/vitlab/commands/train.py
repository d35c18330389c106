"""vitlab train: a model trained on images, with a bundle and a page left behind."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from vitlab.commands.changes import parse_changes, parse_entries, parse_freeze
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
from vitlab.commands.follow import begin, go_on
from vitlab.commands.going_on import check_same, other_versions
from vitlab.commands.manner import Manner
from vitlab.commands.run import Run, check_free
from vitlab.commands.spell import given, spell
from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.files import check_writable
from vitlab.training import cluster
from vitlab.weights.source import check_source


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

    The page is there before the first step and shows the curves while they come: open `report.html` and leave it open.

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
    told, manner = given(train, locals()), Manner(quiet, tensorboard, watch, checkpoint_minutes, checkpoint_steps)
    manner.check()
    if resume is not None:
        return go_on(Path(resume), told, manner)
    if data is None:
        raise UserError("train wants DATA; `vitlab train --help` says what that is")
    data = str(data)
    from_ = "none" if from_ is None else from_
    command = spell(train, locals())
    mine = cluster.process()
    if mine.started_by_torchrun and out is None:
        raise UserError("torchrun starts processes that have to agree on a folder; say which with --out")
    if mine.rank or (mine.restarts and (Path(str(out)) / "config.yaml").is_file()):
        return go_on(Path(str(out)), {}, manner)
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
    return begin(ready, folder, manner)


def _check_recipe(name: str, changes: dict[str, Any], flags: Iterable[str]) -> None:
    """Refuse an unknown recipe and a figure out of range, before anything heavy is imported."""
    from vitlab.training.recipe import recipe

    recipe("few" if name == "auto" else name, changes, flags)
