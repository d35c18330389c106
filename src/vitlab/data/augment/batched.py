"""RandAugment's operations on a batch, on any device: images that drew the same sort of operation go through together.

Rounds as Pillow does, so that `single.py` and this give the same images.
"""

from collections.abc import Sequence

import torch
from jaxtyping import UInt8
from torch import Tensor
from torch.nn import functional

from vitlab.data.augment.operations import BY_VALUE, GEOMETRIC, GREY, INDEX, NAMES, affine, strength

Images = UInt8[Tensor, "B channels X Y"]

_ROUNDING = 1e-3  # what float32 may lack of a whole value, which is then cut off


def vary(images: Images, which: Tensor, signs: Tensor, magnitude: int) -> Images:
    """One operation for each image: `which` by its number, `signs` its direction."""
    varied = images.clone()
    for sort, operation in ((BY_VALUE, _by_value), (GEOMETRIC, _moved), ((INDEX["color"],), _colour),
                            ((INDEX["sharpness"],), _sharper)):  # fmt: skip
        chosen = torch.isin(which, torch.tensor(sort)).nonzero()[:, 0]
        if len(chosen):
            here = chosen.to(images.device)
            varied[here] = operation(images[here], which[chosen], signs[chosen], magnitude)
    return varied


def _by_value(images: Images, which: Tensor, signs: Tensor, magnitude: int) -> Images:
    """A table of what becomes of each value for every channel of every image, and all values looked up at once."""
    count, channels = images.shape[:2]
    flat = images.flatten(2).long()
    value = torch.arange(256, device=images.device).float()
    tables = value.repeat(count, channels, 1)
    for index in which.unique().tolist():
        chosen = (which == index).nonzero()[:, 0].to(images.device)
        name = NAMES[index]
        if name == "posterize":
            tables[chosen] = (value.long() & ~(2 ** (8 - int(strength(name, magnitude))) - 1)).float()
        elif name == "solarize":
            tables[chosen] = torch.where(value < strength(name, magnitude), value, 255 - value)
        elif name == "auto_contrast":
            tables[chosen] = _stretched(flat[chosen], value)
        elif name == "equalize":
            tables[chosen] = _equalised(flat[chosen])
        else:
            factor = _factor(name, signs[which == index], magnitude, images.device)
            middle = _mean_grey(images[chosen]) if name == "contrast" else torch.zeros_like(factor)
            tables[chosen] = _blend(middle, value, factor)
    return tables.gather(2, flat).byte().view(images.shape)


def _stretched(flat: Tensor, value: Tensor) -> Tensor:
    """The darkest value of a channel becomes 0, the lightest 255; a channel of one value stays."""
    low, high = (v[..., None].float() for v in flat.aminmax(dim=2))
    scale = torch.full_like(low, 255, dtype=torch.float64) / (high - low)  # a number over a tensor rounds twice
    stretched = (value * scale - low * scale).clamp(0, 255).floor().float()
    return torch.where(high > low, stretched, value)


def _equalised(flat: Tensor) -> Tensor:
    """The values' ranks among the pixels, spread over 0 to 255; a channel with too few pixels off its top stays."""
    histogram = torch.zeros(*flat.shape[:2], 256, dtype=torch.long, device=flat.device)
    histogram.scatter_add_(2, flat, torch.ones_like(flat))
    top = flat.amax(dim=2, keepdim=True)
    step = (flat.shape[2] - histogram.gather(2, top)) // 255
    below = histogram.cumsum(2) - histogram
    table = ((below + step // 2) // step.clamp(min=1)).clamp(max=255)
    return torch.where(step > 0, table, torch.arange(256, device=flat.device)).float()


def _moved(images: Images, which: Tensor, signs: Tensor, magnitude: int) -> Images:
    """Sampled bilinearly, black where nothing was."""
    height, width = images.shape[2:]
    rows = [
        _in_half_sides(affine(NAMES[i], sign * strength(NAMES[i], magnitude), height, width), height, width)
        for i, sign in zip(which.tolist(), signs.tolist(), strict=True)
    ]
    maps = torch.tensor(rows, device=images.device).view(-1, 2, 3)
    grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
    found = functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    inside = (grid >= -1).all(dim=3) & (grid < 1).all(dim=3)
    return (found * inside[:, None] + _ROUNDING).byte()


def _in_half_sides(where: Sequence[float], height: int, width: int) -> list[float]:
    """A map of pixels as one of half sides from the middle, which affine_grid wants."""
    a, b, c, d, e, f = where
    x, y = width / 2, height / 2
    return [a, b * y / x, (a * x + b * y + c) / x - 1, d * x / y, e, (d * x + e * y + f) / y - 1]


def _colour(images: Images, which: Tensor, signs: Tensor, magnitude: int) -> Images:
    if images.shape[1] == 1:
        return images
    factor = _factor("color", signs, magnitude, images.device)[..., None]
    return _blend(_grey(images), images, factor).byte()


def _sharper(images: Images, which: Tensor, signs: Tensor, magnitude: int) -> Images:
    """Away from the image smoothed, or towards it; the border has no neighbours to be smoothed with."""
    kernel = torch.ones(3, 3, device=images.device)
    kernel[1, 1] = 5
    kernel = (kernel / 13).expand(images.shape[1], 1, 3, 3)
    smooth = images.float()
    if min(images.shape[2:]) > 2:
        inner = functional.conv2d(smooth, kernel, groups=images.shape[1])
        smooth[:, :, 1:-1, 1:-1] = (inner + 0.5).floor().clamp(0, 255)
    return _blend(smooth, images, _factor("sharpness", signs, magnitude, images.device)[..., None]).byte()


def _factor(name: str, signs: Tensor, magnitude: int, device: torch.device) -> Tensor:
    return (1 + signs * strength(name, magnitude)).float().to(device)[:, None, None]


def _blend(off: Tensor, images: Tensor, factor: Tensor) -> Tensor:
    """From what is `off` (factor 0) through the image (1) and beyond, cut off to whole values."""
    return (off + factor * (images - off)).clamp(0, 255).floor()


def _grey(images: Images) -> Tensor:
    if images.shape[1] == 1:
        return images.float()
    weights = torch.tensor(GREY, device=images.device).view(1, 3, 1, 1)
    return (((images * weights).sum(1, keepdim=True) + 0x8000) >> 16).float()


def _mean_grey(images: Images) -> Tensor:
    return (_grey(images).flatten(1).mean(1) + 0.5).floor()[:, None, None]
