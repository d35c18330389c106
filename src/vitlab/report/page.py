"""The page itself: facts in, one HTML file out that needs nothing beside it.

Style, script, charts and pictures are inside the file, and its own security policy forbids it to load anything
or to run any script but ours (known by its hash). Everything that comes from outside, class names above all,
goes through jinja's escaping; only `chart` and the two files of this folder are trusted as markup.
"""

import functools
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from vitlab.files import write_text
from vitlab.report import chart, curves, frame, plan, wording
from vitlab.report.checked import check
from vitlab.report.evaluation import Evaluation
from vitlab.report.facts import RunFacts, read, unfinished
from vitlab.report.live import Live

# A larger confusion matrix is no picture any more: the most confused pairs say it better.
MATRIX_CLASSES = 30
PAIRS = 15
# Up to this many classes each gets its line; of more, the least accurate are shown and the rest folded away.
ALL_CLASSES = 40
WORST_CLASSES = 20
MOST_EPOCH_ROWS = 200
# Column headings longer than this are set upright, so that the matrix stays square.
UPRIGHT_FROM = 4
# With class names longer than this, a phone's table of classes gives up its drawing for them.
LONG_NAME = 14


def write(run: Path, evaluation: Mapping[str, Any] | None = None) -> Path:
    """Make `report.html` in a run's folder and say where it is.

    The evaluation may be given before its file is written.
    """
    facts = read(run)
    if evaluation is not None:
        facts = replace(facts, evaluation=check(evaluation, Evaluation, "no evaluation"))
    return _put(facts, render(facts))


def write_live(facts: RunFacts, live: Live) -> Path:
    """The page about a run that has not ended, as it stands now; it comes in the place of the last one whole."""
    facts = unfinished(facts)
    return _put(facts, render(facts, live))


def _put(facts: RunFacts, text: str) -> Path:
    path = facts.run / "report.html"
    write_text(path, text)
    return path


def render(facts: RunFacts, live: Live | None = None) -> str:
    """The page as text; `live` says where a run stands that has not ended."""
    script = frame.asset("page.js") + (frame.asset("live.js") if live and live.state != "stopped" else "")
    sections, other_reasons = plan.sections(facts.plan)
    found = facts.evaluation
    page = _environment().get_template("page.html")
    return page.render(
        facts=facts,
        plan=facts.plan,
        evaluation=found,
        bundle=facts.bundle,
        cost=facts.cost,
        live=live,
        title=f"{live.title + ': ' if live else ''}{facts.model} on {facts.data}",
        summary=summary(facts, live),
        headline=headline(facts, live),
        figures=figures(facts),
        evaluate=f"vitlab evaluate {shlex.quote(str(facts.run))}",
        charts=[*charts(facts), *(pace_charts(facts) if live else ())],
        across="step" if facts.steps else "epoch",
        curve_note=curve_note(facts),
        epoch_rows=_thinned(facts.epochs),
        epoch_columns=_epoch_columns(facts),
        classes=found.by_class() if found else [],
        all_classes=ALL_CLASSES,
        worst_classes=WORST_CLASSES,
        matrix=matrix(found) if found and len(found.classes) <= MATRIX_CLASSES else None,
        upright=bool(found and any(len(name) >= UPRIGHT_FROM for name in found.classes)),
        long_names=bool(found and any(len(name) > LONG_NAME for name in found.classes)),
        pairs=found.confused(PAIRS) if found else [],
        mistakes=found.pictures() if found else [],
        sections=sections,
        other_reasons=other_reasons,
        preprocess=list(plan.flatten(facts.preprocess)),
        fingerprint=_told_by_bundle_alone(facts),
        versions=list(plan.flatten(facts.bundle.versions)) if facts.bundle else [],
        style=frame.style("page.css"),
        script=Markup(script),
        policy=frame.policy(script),
    )


def headline(facts: RunFacts, live: Live | None = None) -> dict[str, str]:
    """The one figure of the page: on held-out images, or else what training saw last, named as such."""
    if found := facts.evaluation:
        noun = "image" if found.images == 1 else "images"
        kind = f"training {noun}" if found.split == "train" else f"{noun} held out"
        return {
            "figure": wording.percent(found.accuracy),
            "images": f"of {wording.count(found.images)} {kind} named correctly",
            "errors": wording.plural(found.errors, "error"),
        }
    last = next((e for e in reversed(facts.epochs) if e.val_accuracy is not None), None)
    if last is None and live:
        seen = facts.epochs[-1].train_accuracy if facts.epochs else None
        said = "nothing is measured yet" if seen is None else "of the training images so far, none validated yet"
        return {"figure": wording.percent(seen), "images": said, "errors": ""}
    if last is None:
        return {"figure": "", "images": "", "errors": ""}
    return {
        "figure": wording.percent(last.val_accuracy),
        "images": f"validation accuracy after epoch {last.epoch}, watched during training",
        "errors": "",
    }


def summary(facts: RunFacts, live: Live | None = None) -> str:
    """What was trained on what, in a sentence made of the figures that are known."""
    said = facts.model
    if facts.cost:
        said += f" with {wording.count(facts.cost.parameters)} parameters"
    if live:
        said += f", in epoch {facts.epochs[-1].epoch} of {facts.planned}," if facts.epochs else ", about to be trained"
    elif facts.epochs:
        said += f", trained for {wording.plural(len(facts.epochs), 'epoch')}"
    else:
        said += ", trained" if facts.bundle else ", to be trained"
    images = facts.plan.images("train")
    said += f" on {wording.count(images)} images of {facts.data}" if images else f" on {facts.data}"
    if facts.classes:
        said += f" ({wording.plural(facts.classes, 'class', 'classes')})"
    if facts.seconds is not None:
        took = wording.duration(facts.seconds)
        said += f", {took} so far," if live else f" in {took}"
    if device := facts.plan.machine.get("device"):
        said += f" on {wording.value(device)}"
    return said + "."


def figures(facts: RunFacts) -> list[tuple[str, str]]:
    """The short list beside the headline; what is not known is left out."""
    rows: list[tuple[str, str]] = []
    if facts.cost:
        rows.append(("Parameters", wording.short_count(facts.cost.parameters)))
        if facts.cost.gmacs is not None:
            rows.append(("Multiply-adds an image", wording.short_count(1e9 * facts.cost.gmacs)))
    if facts.seconds is not None:
        rows.append(("Training time", wording.duration(facts.seconds)))
    if facts.images_per_second is not None:
        rows.append(("Images a second", wording.count(facts.images_per_second)))
    if facts.evaluation:
        if facts.evaluation.loss is not None:
            rows.append((f"Loss ({facts.evaluation.split})", wording.figure(facts.evaluation.loss)))
        if facts.evaluation.calibration_error is not None:
            rows.append(("Calibration error", wording.percent(facts.evaluation.calibration_error)))
    return rows


def charts(facts: RunFacts) -> list[tuple[str, Markup]]:
    """Loss and accuracy by epoch, those that were measured."""
    split = (("train", "train", "train"), ("validation", "validation", "val"))
    return [
        *_chart(facts, "Loss", [(name, css, f"{column}_loss") for name, css, column in split]),
        *_chart(facts, "Accuracy", [(name, css, f"{column}_accuracy") for name, css, column in split], percent=True),
    ]


def pace_charts(facts: RunFacts) -> list[tuple[str, Markup]]:
    """How fast a run goes, and at which rate it learns: to be watched while it does."""
    return [
        *_chart(facts, "Images a second", [("images/s", "train", "images_per_second")]),
        *_chart(facts, "Learning rate", [("rate", "train", "rate")]),
    ]


def _chart(
    facts: RunFacts, title: str, columns: list[tuple[str, str, str]], percent: bool = False
) -> Iterator[tuple[str, Markup]]:
    """A chart of columns of the table (its name, its CSS class, the column), if there is anything in them."""
    rows, by = (facts.steps, "step") if facts.steps else (facts.epochs, "epoch")
    series = [
        chart.Series(name, css, tuple((r.epoch, y) for r in rows if (y := getattr(r, column)) is not None))
        for name, css, column in columns
    ]
    if svg := chart.line_chart(title, series, [r.epoch for r in rows], percent, by):
        yield title, svg


def curve_note(facts: RunFacts) -> str:
    """What to see in the curves: the best epoch, or where the loss stopped being a number."""
    if (epoch := curves.broken(facts.epochs)) is not None:
        return f"The loss was not finite at epoch {epoch}: training had diverged; a lower learning rate may help."
    top = curves.best(facts.epochs)
    if top is None:
        return ""
    last = facts.epochs[-1].epoch
    when = f"at epoch {top.epoch}" if top.epoch != last else f"at the last epoch, {top.epoch}"
    if top.val_accuracy is not None:
        said = f"Highest validation accuracy {wording.percent(top.val_accuracy)} {when}"
        return f"{said}, with a validation loss of {wording.figure(top.val_loss)}." if top.val_loss else f"{said}."
    return f"Lowest validation loss {wording.figure(top.val_loss)} {when}."


def matrix(found: Evaluation) -> list[tuple[str, list[tuple[int, str]]]]:
    """Rows of the confusion matrix: class, then each cell's count with its share of the row as the shade."""
    rows = []
    for name, row in zip(found.classes, found.confusion, strict=True):
        whole = sum(row)
        # The square root lifts rare confusions, one image among hundreds, out of the background.
        rows.append((name, [(cell, f"{math.sqrt(cell / whole):.2f}" if cell else "0") for cell in row]))
    return rows


def _told_by_bundle_alone(facts: RunFacts) -> list[plan.Entry]:
    """What the bundle says of its data that the plan does not say already."""
    said = facts.bundle.data if facts.bundle else {}
    return list(plan.flatten({name: value for name, value in said.items() if facts.plan.data.get(name) != value}))


def _epoch_columns(facts: RunFacts) -> list[tuple[str, str, str]]:
    """Columns of the table under the curves (field, heading, how it is written), those with anything in them."""
    columns = [
        ("train_loss", "train loss", "figure"),
        ("val_loss", "validation loss", "figure"),
        ("train_accuracy", "train accuracy", "percent"),
        ("val_accuracy", "validation accuracy", "percent"),
        ("rate", "learning rate", "figure"),
        ("images_per_second", "images a second", "count"),
        ("seconds", "time", "duration"),
    ]
    return [c for c in columns if any(getattr(e, c[0]) is not None for e in facts.epochs)]


def _thinned(epochs: tuple[curves.Epoch, ...]) -> list[curves.Epoch]:
    """Every epoch, or of a long run every so many, the last one always among them."""
    step = math.ceil(len(epochs) / MOST_EPOCH_ROWS) or 1
    return list(reversed(epochs[::-1][::step]))


@functools.cache  # a page that is drawn every few seconds need not be compiled each time
def _environment() -> jinja2.Environment:
    environment = frame.environment()
    written: dict[str, Any] = {
        name: getattr(wording, name)
        for name in ("count", "percent", "figure", "size", "duration", "moment", "value", "words", "short_count")
    }
    environment.filters.update(written)
    environment.globals.update(
        written=written, plural=wording.plural, share_bar=chart.share_bar, interval_dot=chart.interval_dot
    )
    return environment
