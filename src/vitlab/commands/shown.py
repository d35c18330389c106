"""A plan as a person reads it before the first step: a row for each decision, with its reason."""

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from vitlab.report.wording import duration, plural, size

if TYPE_CHECKING:
    from vitlab.training.estimate import Estimate
    from vitlab.training.plan import Plan


_MARGIN = 11  # where what a row says begins


def show(plan: "Plan", guess: "Estimate") -> None:
    """Print the rows on standard error; a terminal's lines do not end within words."""
    rows = plan_rows(plan, guess)
    if sys.stderr.isatty():
        rows = folded(rows, shutil.get_terminal_size().columns)
    print(rows, file=sys.stderr)


def folded(rows: str, width: int) -> str:
    """Rows that are too long go on below where what they say begins."""
    width = max(width, 2 * _MARGIN)
    return "\n".join(
        textwrap.fill(row, width, subsequent_indent=" " * _MARGIN, break_on_hyphens=False) for row in rows.splitlines()
    )


def plan_rows(plan: "Plan", guess: "Estimate") -> str:
    """The rows, of a width that lines up."""
    recipe, machine, reasons = plan.recipe, plan.machine, plan.reasons
    data, epochs = plan.data, f"{recipe.epochs} epochs of batches of {recipe.batch}, rate {recipe.rate:g}"
    counts = f"{data.train} to train, {data.val} to validate, {data.test} to test, {len(data.classes)} classes"
    arithmetic = f"{machine.device}, {plural(machine.threads, 'thread')}, {machine.precision}"
    if machine.world > 1:
        arithmetic += f", {machine.world} processes on {machine.nodes} machines, {machine.strategy}"
    rows = {
        "data": (f"{data.name}: {counts}", _said(plan)),
        "model": (plan.model, reasons.get("model", "")),
        **({"teacher": (plan.teacher.model, reasons.get("teacher", ""))} if plan.teacher else {}),
        "recipe": (epochs, reasons.get("recipe", "")),
        "feeding": (_fed(plan), reasons.get("feeding", "")),
        "machine": (arithmetic, reasons.get("precision", "")),
        "kernels": (", ".join(sorted(set(machine.kernels.values()))) or "by rule", reasons.get("kernels", "")),
        "seed": (str(plan.seed), ""),
        **_taken(plan, guess),
    }
    return "\n".join(f"  {name:8} {value}{f'  ({why})' if why else ''}" for name, (value, why) in rows.items())


def _said(plan: "Plan") -> str:
    """What is to be known of the data, and what a list has taken away.

    It is said where it was nothing too, since then it may be the list of other data.
    """
    told = [plan.reasons["data"]] if "data" in plan.reasons else []
    if listed := plan.data.quarantine:
        told.append(f"{f'{listed.images:,}' if listed.images else 'none'} left out, as {listed.file} says")
    return "; ".join(told)


def _fed(plan: "Plan") -> str:
    way = {"memory": "from memory", "cache": "from a cache", "stream": "decoded as they come"}[plan.feeding.train]
    return f"{way}, crops cut from whole pictures" if plan.feeding.whole else way


def _taken(plan: "Plan", guess: "Estimate") -> dict[str, tuple[str, str]]:
    """What the run will take, and whether that is there."""
    told = guess.advice or (f"{size(guess.free)} are free" if guess.free is not None else "")
    parts = f", batches in {plan.accumulate} parts" if plan.accumulate > 1 else ""
    rows = {"memory": (f"about {size(guess.memory)}{parts}", told)}
    if guess.seconds is not None:
        pace = f"{plan.machine.images_per_second:,.0f} images/s measured"
        rows["time"] = (f"about {duration(guess.seconds)}", f"{pace}; what prepares them not counted")
    return rows
