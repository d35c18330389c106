"""Explanations as the interactive page reads them: 8 bits a value, each row on a scale of its own.

A row of attention is a share of one spread over all tokens, and rows differ by orders of magnitude: on one scale for
all, most would be black. So a row of values v is bytes b with v = low + step b, in base64, and what is read off the
page is within half a step of the figure itself. Low is left out where it is zero everywhere.
"""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitlab.explain.cells import coarser
from vitlab.explain.explanation import Array, Explanation, Layer, Pair, Pixels
from vitlab.explain.grids import mixture, overlap
from vitlab.explain.methods.titles import TITLES

_SMALL = 64  # an image up to this side is kept pixel by pixel
_CLASSES = 5


def shown(found: Explanation) -> dict[str, Any]:
    """One image with all that the page shows of it."""
    ranked = list(found.prediction.probabilities.items())[:_CLASSES]
    return {
        "where": found.where,
        "summary": found.summary,
        "right": found.right,
        "target": found.target,
        "probabilities": [[name, round(p, 5)] for name, p in ranked],
        "picture": _picture(found.image),
        "rows": found.image.shape[0],
        "columns": found.image.shape[1],
        "layers": [_layer(layer) for layer in found.layers],
        "methods": [
            {"name": name, "title": TITLES[name], "grid": heat.shape, "map": packed(heat.reshape(1, -1))}
            for name, heat in ((name, _fewer(heat)) for name, heat in found.heat.items())
        ],
        "refused": [[TITLES[name], why] for name, why in found.refused.items()],
    }


def packed(rows: NDArray[np.floating]) -> dict[str, str]:
    """Rows of numbers as bytes with a low and a step for each."""
    rows = rows.astype(np.float64)
    low = np.minimum(rows.min(axis=1), 0).astype(np.float32)
    step = ((rows.max(axis=1) - low) / 255).astype(np.float32)
    share = (rows - low[:, None]) / np.where(step > 0, step, 1)[:, None]
    found = {"bytes": _encoded(share.round().clip(0, 255).astype(np.uint8)), "step": _encoded(step)}
    return found | {"low": _encoded(low)} if low.any() else found


def _layer(layer: Layer) -> dict[str, Any]:
    grid = coarser(layer.grid)  # many patches are taken together in squares
    mean, reading, every = layer.mean, layer.reading, layer.every
    if grid != layer.grid:
        mixed, summed = together(layer.grid, grid, len(layer.prefix))
        mean, reading = _single(mixed @ mean @ summed), _single(reading @ summed)
        every = None if every is None else _single(mixed @ every @ summed)
    return {
        "name": layer.name,
        "grid": grid,
        "patches": layer.grid,
        "prefix": layer.prefix,
        "heads": len(reading),
        "mean": packed(mean),
        "reading": packed(np.concatenate([reading.mean(axis=0, keepdims=True), reading])),
        "every": None if every is None else packed(every.reshape(-1, every.shape[2])),
    }


def together(fine: Pair, coarse: Pair, prefix: int) -> tuple[Array, Array]:
    """What makes a map over squares of patches: (coarse, fine), the mean of who looks; (fine, coarse), the sum over
    what is looked at. Tokens before the patches stay as they are."""
    whole: Array = mixture(fine, coarse, prefix).numpy()
    back = whole.T.copy()
    back[prefix:, prefix:] *= fine[0] * fine[1] / (coarse[0] * coarse[1])
    return whole, back


def _fewer(heat: Array) -> Array:
    """A map of pixels as one of squares of them, by their mean."""
    grid = coarser((heat.shape[0], heat.shape[1]))
    if grid == heat.shape:
        return heat
    rows, columns = (overlap(*sides).numpy() for sides in zip(heat.shape, grid, strict=True))
    return _single(rows @ heat @ columns.T)


def _single(values: NDArray[np.floating]) -> Array:
    return values.astype(np.float32)


def _picture(image: Pixels) -> str:
    small = max(image.shape[:2]) <= _SMALL
    held = io.BytesIO()
    Image.fromarray(image).save(held, "PNG" if small else "JPEG", quality=88)
    return f"data:image/{'png' if small else 'jpeg'};base64,{base64.b64encode(held.getvalue()).decode()}"


def _encoded(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
