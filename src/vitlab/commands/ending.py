"""What follows a training, each part replaced whole or not at all, so that it can be done again after any kill."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vitlab.commands.run import Run
from vitlab.files import write_text

if TYPE_CHECKING:
    from vitlab.data.feed.feed import Feed
    from vitlab.models.blueprint import Model
    from vitlab.models.cost import Cost
    from vitlab.training.plan import Plan

# The evaluation is written last, after the page with it: a page is there while a run goes on, and a run with all of
# these is finished.
_LEFT = ("bundle/model.json", "cost.json", "report.html", "evaluation.json")


def finished(folder: Path) -> bool:
    """Whether everything that a run leaves is there."""
    return all((folder / name).is_file() for name in _LEFT)


def describe(plan: "Plan", counted: "Cost", folder: Path) -> None:
    """What is known before the first step: the plan and what the model costs."""
    write_text(folder / "config.yaml", plan.to_yaml())
    write_text(folder / "cost.json", counted.model_dump_json())


def finish(plan: "Plan", trained: "Model", test: "Feed", folder: Path) -> Run:
    """The trained model saved as a bundle, tried on the test images, and described."""
    from vitlab.analysis.accuracy import evaluate
    from vitlab.bundle import Bundle, Card, load
    from vitlab.explain.examples import examples
    from vitlab.report import page

    card = Card(
        blueprint=plan.blueprint,
        preprocess=plan.preprocess,
        classes=plan.data.classes,
        data=plan.data.model_dump(exclude={"classes"}),
        versions=plan.machine.versions,
        command=plan.command,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    Bundle(trained, card).save(folder / "bundle")
    found = evaluate(load(folder), test, "test")  # of the bundle as anyone will load it
    metrics = {"test_accuracy": found.accuracy, "test_loss": found.loss}
    Bundle(trained, card.model_copy(update={"metrics": metrics})).save(folder / "bundle")
    write_text(folder / "examples.json", examples(load(folder), test).model_dump_json())
    page.write(folder, found.model_dump(mode="json"))
    write_text(folder / "evaluation.json", found.model_dump_json())
    return Run(folder)
