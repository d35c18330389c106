"""vitlab evaluate: how often a trained model is right."""

from typing import TYPE_CHECKING, Literal

from vitlab.bundle_path import check_bundle
from vitlab.commands.flags import MaybeData, RunPath
from vitlab.data.sources import check_source
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.analysis.accuracy import Evaluation
    from vitlab.bundle import Bundle


def evaluate(
    run: RunPath,
    data: MaybeData = None,
    /,
    *,
    split: Literal["test", "val", "train"] = "test",
) -> "Evaluation":
    """Count how often a trained model is right, on the images it was tested with or on others.

    Args:
        run: A run's folder or a bundle.
        data: Images with the same classes, as for `vitlab train`; the run's own if not given.
        split: Which of its images.
    """
    check_bundle(run)
    if data is not None:
        check_source(data)

    from vitlab.analysis import accuracy
    from vitlab.bundle import load
    from vitlab.data import memory
    from vitlab.data.splits import open_splits

    bundle = load(run)
    source = open_splits(data or _trained_on(bundle))
    if source.classes != bundle.classes:
        raise UserError(
            f"{source.name} has the classes {_some(source.classes)}, the model knows {_some(bundle.classes)}; "
            "give data with the same classes in the same order"
        )
    return accuracy.evaluate(bundle, memory.load(source.splits[split], bundle.card.preprocess), split)


def _trained_on(bundle: "Bundle") -> str:
    """The data of the training, where they still are."""
    named = bundle.card.data.get("source")
    if named is None:
        raise UserError("the bundle does not say which data it was trained on; name the data to evaluate on")
    try:
        check_source(str(named))
    except UserError:
        raise UserError(f"the data of the training, {named!r}, are not here; name the data to evaluate on") from None
    return str(named)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
