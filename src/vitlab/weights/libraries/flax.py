"""The original files (`.npz`): arrays alone, of images scaled to between -1 and 1."""

from vitlab.models.plain import Plain
from vitlab.weights.libraries import shapes
from vitlab.weights.libraries.described import HALF, Described, guessed
from vitlab.weights.maps import vit
from vitlab.weights.maps.flax import is_flax, names
from vitlab.weights.reading.checkpoint import Checkpoint

NAME = "the original code"
_IMAGES = {"crop": 1.0, "interpolation": "bilinear", "shape": "stretch"}
_PREFIX = "opt/target/"  # where files of a training in progress keep the weights


def recognise(names: set[str]) -> bool:
    return is_flax({name.removeprefix(_PREFIX) for name in names})


def describe(checkpoint: Checkpoint, like: Plain | None) -> Described:
    """A bare file; here the shapes do tell the number of heads."""
    checkpoint = checkpoint.renamed(lambda name: name.removeprefix(_PREFIX))
    table = names(heads=1)
    heads = checkpoint.shapes[table.block.format(0) + table.qkv[0].format("kernel")][1]
    table = names(heads)
    found = shapes.blueprint(checkpoint, table, like, block__attention__heads=heads)
    preprocess = guessed(found, HALF).model_copy(update=_IMAGES)
    return Described(NAME, checkpoint, found, vit.links(found, table), preprocess)
