"""One image explained by everything there is: attention of every layer, and each method's map."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vitlab.bundle import Bundle, Prediction
from vitlab.errors import UserError, nearest
from vitlab.explain.explanation import Explanation, Layer, Pixels
from vitlab.explain.grids import over_tokens
from vitlab.explain.methods.attention import rows
from vitlab.explain.methods.method import Images, Method
from vitlab.explain.record import attention_layers, evaluating, recording
from vitlab.models.blueprint import Model


def look(
    bundle: Bundle,
    image: UInt8[Tensor, "channels X Y"],
    where: str,
    methods: Sequence[Method],
    *,
    target: str | None = None,
    truth: str | None = None,
    all_heads: bool = False,
) -> Explanation:
    """Explain the class that the model found, or another; `image` is as `bundle.card.preprocess.fit` makes it."""
    model = bundle.model
    images = bundle.card.preprocess.normalise(image[None].to(next(model.parameters()).device))
    prediction = predicted(bundle, image)
    asked = target or prediction.label
    targets = torch.tensor([class_number(bundle, asked)], device=images.device)
    heat, refused = {}, {}
    for method in methods:
        try:
            found = method.explain(model, images, targets)[0]
            heat[method.name] = found.detach().float().cpu().numpy()
        except UserError as error:
            refused[method.name] = str(error)
    layers = attention(model, images, all_heads)
    return Explanation(where, pixels(image), prediction, asked, layers, heat, refused, truth, _scales(model, images))


def attention(model: Model, images: Images, all_heads: bool = False) -> tuple[Layer, ...]:
    """Every attention layer's map of one image; none for a model that has no attention."""
    if not attention_layers(model):
        return ()
    found = []
    with recording(model) as recorded, torch.no_grad():
        model(images)
        for seen in recorded:
            whole = over_tokens(seen, seen.map)
            found.append(
                Layer(
                    name=seen.place.name,
                    grid=seen.grid,
                    prefix=_prefix(model, seen.prefix),
                    mean=_array(whole[0].mean(dim=0)),
                    reading=_array(rows(seen, recorded.reading)[0]),
                    every=_array(whole[0]) if all_heads else None,
                )
            )
    return tuple(found)


def predicted(bundle: Bundle, image: UInt8[Tensor, "channels X Y"]) -> Prediction:
    """What the bundle says of an image of its size."""
    (row,) = bundle.probabilities(image[None])
    return bundle.prediction(row)


def class_number(bundle: Bundle, name: str) -> int:
    """The place of a class in the logits."""
    if name not in bundle.classes:
        raise UserError(f"the model knows no class {name!r}{nearest(name, bundle.classes)}")
    return bundle.classes.index(name)


def pixels(image: UInt8[Tensor, "channels X Y"]) -> Pixels:
    """An image to be shown: colours where there are three channels, else the first channel."""
    shown: Pixels = (image.permute(1, 2, 0) if len(image) == 3 else image[0]).cpu().numpy()
    return shown


def _prefix(model: Model, count: int) -> tuple[str, ...]:
    """What the tokens before the patches are called."""
    known = getattr(model.blueprint, "prefix", None)
    names = []
    if known is not None and known.count == count:
        names = ["class token"] * known.cls + ["distillation token"] * known.distillation
    registers = [f"register {i + 1}" for i in range(count - len(names))]
    return (*names, *(["token before the patches"] if registers and not names and count == 1 else registers))


def _scales(model: Model, images: Images) -> tuple[np.ndarray, ...]:
    """The maps of each stage, where a model gives them."""
    scales: Any = getattr(model, "scales", None)
    if scales is None:
        return ()
    with evaluating(model), torch.no_grad():
        return tuple(_array(maps[0]) for maps in scales(images))


def _array(values: Tensor) -> np.ndarray:
    return values.float().cpu().numpy()
