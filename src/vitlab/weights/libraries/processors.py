"""transformers' `preprocessor_config.json`, read and written: how its image processors prepare images."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.plain import Plain
from vitlab.strangers import read_json
from vitlab.weights.libraries.described import HALF, guessed, section

FILE = "preprocessor_config.json"
_RESAMPLE = {2: "bilinear", 3: "bicubic"}  # Pillow's numbers


def read_processor(folder: Path, blueprint: Plain) -> tuple[Preprocess, tuple[str, ...]]:
    """How the images of a model were prepared, and what is to be said of it."""
    path = folder / FILE
    if not path.is_file():
        said = f"there is no {FILE}: images are prepared as ViT's usually are"
        return as_vits(blueprint), (said,)
    given = read_json(path, "configuration of images", "download or copy it again")
    if not isinstance(given, dict):
        raise UserError(f"{path} is no configuration of images")
    resized, stretched = _resized(given, path)
    cut = _crop(given, path) if given.get("do_center_crop") else None
    size = cut or resized
    if stretched is False and cut is None:
        raise UserError(
            f"{path} scales the shorter side alone and cuts nothing out, which makes images that no batch holds"
        )
    resample = given.get("resample", 2)
    if resample not in _RESAMPLE:
        raise UserError(f"{path}: resampling {resample!r} is not done here; known are 2 (bilinear) and 3 (bicubic)")
    factor = given.get("rescale_factor", 1 / 255)
    if abs(float(factor) * 255 - 1) > 1e-6:
        raise UserError(f"{path}: pixels are scaled by {factor}, not by 1/255")
    plain = not given.get("do_normalize", True)
    channels = blueprint.channels
    return Preprocess(
        size=size,
        channels=channels,
        mean=(0.0,) * channels if plain else tuple(given.get("image_mean", HALF[0])),
        std=(1.0,) * channels if plain else tuple(given.get("image_std", HALF[1])),
        crop=min(size) / min(resized),
        interpolation=_RESAMPLE[resample],
        shape="stretch" if stretched else "keep",
    ), ()


def as_vits(blueprint: Plain) -> Preprocess:
    """As ViT's processor does it unless told otherwise: each side scaled by itself, to between -1 and 1."""
    usual = {"crop": 1.0, "interpolation": "bilinear", "shape": "stretch"}
    return guessed(blueprint, HALF).model_copy(update=usual)


def processor(preprocess: Preprocess) -> dict[str, Any]:
    """What `AutoImageProcessor.from_pretrained` reads to prepare images in the same way."""
    rows, columns = preprocess.size
    found: dict[str, Any] = {
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "rescale_factor": 1 / 255,
        "image_mean": list(preprocess.mean),
        "image_std": list(preprocess.std),
        "resample": {word: number for number, word in _RESAMPLE.items()}[preprocess.interpolation],
    }
    if preprocess.channels != 3:
        raise UserError(f"transformers' image processors make 3 channels, not {preprocess.channels}; take --to timm")
    if preprocess.shape == "stretch":
        larger = {"height": round(rows / preprocess.crop), "width": round(columns / preprocess.crop)}
        crop = {"do_center_crop": True, "crop_size": {"height": rows, "width": columns}} if preprocess.crop < 1 else {}
        kind = "DeiTImageProcessor" if crop else "ViTImageProcessor"
        return found | {"image_processor_type": kind, "size": larger} | crop
    if rows != columns:
        raise UserError("transformers' image processors cannot cut an oblong out of the middle; take --to timm")
    return found | {
        "image_processor_type": "BitImageProcessor",
        "do_convert_rgb": True,
        "size": {"shortest_edge": round(rows / preprocess.crop)},
        "do_center_crop": True,
        "crop_size": {"height": rows, "width": columns},
    }


def _resized(given: Mapping[str, Any], path: Path) -> tuple[tuple[int, int], bool]:
    """The size that images are scaled to, and whether each side by itself."""
    size = given.get("size", 224)
    if isinstance(size, int):  # as older versions wrote it
        return (size, size), not given.get("do_center_crop") or "DeiT" in str(given.get("image_processor_type", ""))
    if not isinstance(size, dict):
        raise UserError(f"{path}: size wants a number or named sides")
    if edge := size.get("shortest_edge"):
        return (edge, edge), False
    return _pair(size), True


def _crop(given: Mapping[str, Any], path: Path) -> tuple[int, int]:
    side = given.get("crop_size")
    return (side, side) if isinstance(side, int) else _pair(section(given, "crop_size", str(path)))


def _pair(size: Mapping[str, Any]) -> tuple[int, int]:
    rows, columns = size.get("height", 224), size.get("width", 224)
    return int(rows), int(columns)
