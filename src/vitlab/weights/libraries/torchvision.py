"""torchvision's files: weights alone, prepared for as its own recipes do."""

from vitlab.models.plain import Plain
from vitlab.weights.libraries import shapes
from vitlab.weights.libraries.described import IMAGENET, Described, guessed
from vitlab.weights.maps import vit
from vitlab.weights.maps.torchvision import OTHER_WORDS, TORCHVISION, is_torchvision
from vitlab.weights.reading.checkpoint import Checkpoint

NAME = "torchvision"


def recognise(names: set[str]) -> bool:
    return is_torchvision(names)


def describe(checkpoint: Checkpoint, like: Plain | None) -> Described:
    """A bare file; torchvision scales images bilinearly and cuts 224 out of 256."""
    checkpoint = checkpoint.renamed(_word)
    found = shapes.blueprint(checkpoint, TORCHVISION, like)
    preprocess = guessed(found, IMAGENET).model_copy(update={"interpolation": "bilinear"})
    return Described(NAME, checkpoint, found, vit.links(found, TORCHVISION), preprocess)


def _word(name: str) -> str:
    for pattern, word in OTHER_WORDS:
        name = pattern.sub(word, name)
    return name
