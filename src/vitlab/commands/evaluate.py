"""vitlab evaluate: how often a trained model is right."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vitlab.bundle_path import check_bundle
from vitlab.commands.flags import MaybeData, MaybePath, RunPath, Switch
from vitlab.commands.own_data import same_classes
from vitlab.data.origin import Origin

if TYPE_CHECKING:
    from vitlab.analysis.accuracy import Evaluation


def evaluate(
    run: RunPath,
    data: MaybeData = None,
    /,
    *,
    split: Literal["test", "val", "train"] = "test",
    root: MaybePath = None,
    fetch: Switch = False,
    quarantine: MaybePath = None,
    mirrored: Switch = False,
) -> "Evaluation":
    """Count how often a trained model is right, on the images it was tested with or on others.

    Args:
        run: A run's folder or a bundle.
        data: Images with the same classes, as for `vitlab train`; the run's own if not given.
        split: Which of its images.
        root: Folder with the files of a data set known by name; $VITLAB_DATA or data/ if not given.
        fetch: Get those files from their published address where they are missing.
        quarantine: A list of files to leave out; for the run's own images the one that training left out.
        mirrored: Average each answer with that for the mirror image; the result says so.
    """
    check_bundle(run)
    folder = None if root is None else Path(root)
    listed = None if quarantine is None else Path(quarantine)
    if data is not None:
        Origin(data, folder, fetch, listed).check()

    from vitlab.analysis import accuracy
    from vitlab.bundle import load
    from vitlab.data.feed.choose import open_fitted

    bundle = load(run)
    source = same_classes(bundle, data, folder, fetch, listed)
    pictures = open_fitted(source.splits[split], bundle.card.preprocess)
    return accuracy.evaluate(bundle, pictures, split, mirrored)
