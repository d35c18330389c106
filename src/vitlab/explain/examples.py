"""A few test images, right and wrong, with what the model looked at: small enough to lie in a run's folder."""

import base64

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict

from vitlab.bundle import Bundle
from vitlab.data.feed.feed import Feed
from vitlab.explain.choose import right_and_wrong
from vitlab.explain.colours import as_png, enlarged, overlaid
from vitlab.explain.explanation import Explanation, Pixels
from vitlab.explain.look import look
from vitlab.explain.methods.known import chosen
from vitlab.explain.methods.titles import TITLES
from vitlab.explain.record import attention_layers

_COUNT = 6
_SIDE = 112  # pixels at most, and of small images at least
# Each takes a pass or two, so that a training ends at once.
_BY_ATTENTION, _WITHOUT = ("rollout", "weighted-rollout"), ("grad-cam",)


class Example(BaseModel):
    """One image: its picture, and under each method's title the map over it, as base64 PNG."""

    model_config = ConfigDict(frozen=True)

    where: str
    truth: str
    predicted: str
    probability: float
    png: str
    maps: dict[str, str]


class Examples(BaseModel):
    """All of them; the wrong ones first."""

    model_config = ConfigDict(frozen=True)

    examples: tuple[Example, ...]


def examples(bundle: Bundle, pictures: Feed) -> Examples:
    """Half of them wrong where there are so many, the surest first."""
    methods = chosen(_BY_ATTENTION if attention_layers(bundle.model) else _WITHOUT)
    made = []
    for i in right_and_wrong(bundle, pictures, _COUNT):
        found = look(
            bundle,
            pictures.image(i),
            pictures.keys[i],
            methods,
            truth=bundle.classes[int(pictures.labels[i])],
        )
        made.append(_example(found))
    return Examples(examples=tuple(made))


def _example(found: Explanation) -> Example:
    image = _fitting(found.image)
    return Example(
        where=found.where,
        truth=found.truth or "",
        predicted=found.prediction.label,
        probability=found.prediction.probability,
        png=_encoded(as_png(Image.fromarray(image))),
        maps={TITLES[name]: _encoded(as_png(overlaid(image, heat))) for name, heat in found.heat.items()},
    )


def _fitting(image: Pixels) -> Pixels:
    """Small images enlarged with hard pixels, large ones made smaller."""
    made = Image.fromarray(enlarged(image, _SIDE // 2))
    made.thumbnail((_SIDE, _SIDE))
    return np.asarray(made)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
