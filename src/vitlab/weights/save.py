"""A bundle written so that another library opens it, or refused where that library has no words for it."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save_file

from vitlab.bundle import Bundle
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.files import replacing, system_errors
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.models.resnet import ResNet
from vitlab.strangers import some
from vitlab.weights.libraries import timm, transformers
from vitlab.weights.libraries.processors import FILE as PROCESSOR
from vitlab.weights.libraries.processors import processor
from vitlab.weights.maps import resnet, vit
from vitlab.weights.maps.links import to_theirs
from vitlab.weights.maps.timm import TIMM
from vitlab.weights.say import Say
from vitlab.weights.sidecar import FILE as SIDECAR
from vitlab.weights.sidecar import sidecar

Target = Literal["bundle", "timm", "transformers"]
_FREE = ("name", "init", "dropout", "drop_path")  # what the other side need not know to compute the same


def save(bundle: Bundle, path: Path, to: Target, say: Say) -> None:
    """Write the bundle's folder, or one that `to` opens, whole or not at all."""
    if to == "bundle":
        bundle.save(path)
        return
    blueprint, card = bundle.card.blueprint, bundle.card
    files: dict[str, Mapping[str, Any]]
    if to == "timm":
        config = timm.config(blueprint, card.preprocess, card.classes)
        _check(blueprint, timm.blueprint(config, "timm") if _built_by_timm(blueprint) else None, to, say)
        links = vit.links(blueprint, TIMM) if isinstance(blueprint, Plain) else resnet.links(_resnet(blueprint))
        files = {"config.json": config}
    else:
        if not isinstance(blueprint, Plain):
            raise UserError(f"transformers' {blueprint.name} has other weights; take --to timm")
        config = transformers.config(blueprint, card.classes)
        _check(blueprint, transformers.blueprint(config, "transformers"), to, say)
        links = vit.links(blueprint, transformers.table(blueprint))
        files = {"config.json": config, PROCESSOR: processor(card.preprocess)}
    _tell_of_pixels(card.preprocess, to, say)
    state = {name: tensor.detach().cpu() for name, tensor in bundle.model.state_dict().items()}
    theirs = {name: tensor.contiguous().clone() for name, tensor in to_theirs(links, state).items()}
    with replacing(path) as beside:
        beside.mkdir()
        for name, data in files.items():
            (beside / name).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        with system_errors():
            save_file(theirs, beside / "model.safetensors", metadata={"format": "pt"})
        (beside / SIDECAR).write_text(json.dumps(sidecar(beside, card), indent=1) + "\n", encoding="utf-8")


def _tell_of_pixels(preprocess: Preprocess, to: str, say: Say) -> None:
    """Others scale the shorter side to a whole number of pixels and cut; here the share may be any."""
    side = min(preprocess.size)
    larger = side / preprocess.crop
    whole = math.floor(larger + 1e-3) if to == "timm" else round(larger)
    if abs(larger - whole) > 1e-3:
        say(
            f"images: {to} scales to {whole} pixels and cuts {side} out, a share of {side / whole:.4f}, "
            f"not {preprocess.crop:.4f}"
        )


def _built_by_timm(blueprint: Blueprint) -> bool:
    return isinstance(blueprint, Plain | ResNet)


def _resnet(blueprint: Blueprint) -> ResNet:
    if not isinstance(blueprint, ResNet):
        raise UserError(f"timm's words for {blueprint.name} are not known here; take --to bundle")
    return blueprint


def _check(blueprint: Blueprint, said: Blueprint | None, to: str, say: Say) -> None:
    """What the library's description says, read again, has to be the blueprint; where it is not, it is refused."""
    if said is None:
        raise UserError(f"{to}'s words for {blueprint.name} are not known here; take --to bundle")
    ours, theirs = (_flat(described.model_dump(mode="json")) for described in (blueprint, said))
    different = {path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)}
    different = {path for path in different if path.split(".")[0] not in _FREE and not path.endswith(".resample")}
    if to == "timm" and (coarse := {path for path in different if path.endswith("eps")}):
        different -= coarse
        say(f"norms: timm's have an epsilon of {timm.EPS:g}, these {ours[min(coarse)]:g}; logits may differ a little")
    if different:
        raise UserError(
            f"{to} has no words for {blueprint.name}: {some(sorted(different))} cannot be said there; take --to bundle"
        )


def _flat(data: Any, path: str = "") -> dict[str, Any]:
    """Nested entries as one table, by their way there."""
    if not isinstance(data, dict):
        return {path: tuple(data) if isinstance(data, list) else data}
    return {
        way: value for key, inner in data.items() for way, value in _flat(inner, f"{path}.{key}".strip(".")).items()
    }
