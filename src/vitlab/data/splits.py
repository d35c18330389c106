"""A source with everything a run needs: images to train on, to choose by, and to test with once."""

from vitlab.data.origin import Origin
from vitlab.data.quarantine import read_quarantine, without
from vitlab.data.sources import open_source
from vitlab.data.sources.source import Source
from vitlab.errors import UserError

SHARE = 0.1  # of the training images, for each split that the data come without
SEED = 0  # never the training's: runs with other seeds are compared on the same images


def open_splits(origin: Origin) -> Source:
    """The data meant, less what is to be left out, with a test and a validation split held out where there is none."""
    source = open_source(origin.data, origin.root, origin.fetch)
    if origin.quarantine is not None:
        source = without(source, read_quarantine(origin.quarantine))
    for split in ("test", "val"):
        if split not in source.splits:
            count = round(SHARE * len(source.splits["train"]))
            if count < len(source.classes):
                raise UserError(
                    f"{origin.data} has {len(source.splits['train'])} training images, too few to hold a tenth "
                    f"out of for {split} in {len(source.classes)} classes; "
                    f"add images, or a folder {split} with some of each class"
                )
            source = source.hold_out(split, count, SEED)
    return source
