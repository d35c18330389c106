"""The plan as rows to read: every decision with its value and, beside it, why it was taken.

`config.yaml` nests its values and names its reasons by entry: `recipe.epochs`, or `epochs`, or a whole part
such as `recipe`. Each reason must appear exactly once, at the most exact place that it fits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vitlab.report import wording
from vitlab.report.facts import Plan

# A blueprint can list every block; past this many rows nobody reads on, and config.yaml has the rest.
MOST_ROWS = 300


@dataclass(frozen=True)
class Entry:
    """One decision."""

    name: str
    value: str
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """One part of the plan; `left_out` counts the rows past the limit."""

    key: str
    title: str
    entries: tuple[Entry, ...]
    reason: str = ""
    left_out: int = 0


def _steps(steps: list[dict[str, Any]]) -> dict[str, object]:
    """The steps of variation under their kinds, in their order; one without settings says so."""
    return {
        str(step.get("kind", f"step {place}")): {name: v for name, v in step.items() if name != "kind"} or "as it is"
        for place, step in enumerate(steps, 1)
    }


def sections(plan: Plan) -> tuple[dict[str, Section], tuple[Entry, ...]]:
    """The parts of the plan by key, those without entries left out, and the reasons that fit no entry."""
    reasons = dict(plan.reasons)
    choices = {"model": plan.model, "seed": plan.seed, "accumulate": plan.accumulate}
    parts: list[tuple[str, str, Mapping[str, object]]] = [
        ("choices", "Choices", {name: value for name, value in choices.items() if value is not None}),
        ("data", "Images", plan.data),
        ("recipe", "Recipe", {name: value for name, value in plan.recipe.items() if name != "augment"}),
        ("augment", "Augmentation", _steps(plan.augment)),
        ("machine", "Machine", plan.machine),
        ("blueprint", "Blueprint", plan.blueprint),
    ]
    rows = {key: list(flatten(content)) for key, _, content in parts}
    found: dict[str, Section] = {}
    # Exact names first: a reason for `recipe.epochs` must not be taken by another part's `epochs`.
    for exact in (True, False):
        for key, title, _ in parts:
            if not rows[key]:
                continue
            section = found.get(key) or Section(key, title, ())
            if exact:
                section = replace(section, reason=reasons.pop(key, "") if key != "choices" else "")
            rows[key] = [_explain(entry, key, exact, reasons) for entry in rows[key]]
            left_out = max(0, len(rows[key]) - MOST_ROWS)
            found[key] = replace(section, entries=tuple(rows[key][:MOST_ROWS]), left_out=left_out)
    return found, tuple(Entry(wording.words(name), "", reason) for name, reason in reasons.items())


def _explain(entry: Entry, part: str, exact: bool, reasons: dict[str, str]) -> Entry:
    """The entry with the reason given for it, which is then used up."""
    if entry.reason:
        return entry
    path = entry.name
    if exact:
        names = [f"{part}.{path}"] + ([path] if part == "choices" else [])
    else:
        # A reason for a group (`optimizer`) stands at the group's first row (`optimizer.name`).
        steps = path.split(".")
        names = [path, steps[-1]] + [".".join(steps[:k]) for k in range(len(steps) - 1, 0, -1)]
        names += [f"{part}.{name}" for name in names]
    for name in names:
        if name in reasons:
            return replace(entry, reason=reasons.pop(name))
    return entry


def flatten(content: Mapping[str, object], above: str = "") -> Iterator[Entry]:
    """Rows of a nested mapping, named by their path; a list of mappings is numbered."""
    for name, value in content.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{path}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield from flatten({str(k): item for k, item in enumerate(value, 1)}, f"{path}.")
        else:
            yield Entry(path, wording.value(value))
