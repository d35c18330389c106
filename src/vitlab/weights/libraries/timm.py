"""timm's `config.json`: an architecture by name, the arguments that differ, and how images are prepared."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError, nearest
from vitlab.models import registry
from vitlab.models.blueprint import Blueprint
from vitlab.models.plain import Plain
from vitlab.models.resnet import ResNet
from vitlab.strangers import plain
from vitlab.weights.libraries import shapes
from vitlab.weights.libraries.described import IMAGENET, Described, guessed, section
from vitlab.weights.maps import resnet, vit
from vitlab.weights.maps.names import Names
from vitlab.weights.maps.timm import OTHER_WORDS, TIMM, is_timm
from vitlab.weights.reading.checkpoint import Checkpoint

NAME = "timm"
EPS = 1e-6  # of every norm that timm's configuration can ask for

# timm's arguments to ours, where one is the other.
_ARGUMENTS = {
    "img_size": "image",
    "in_chans": "channels",
    "num_classes": "classes",
    "patch_size": "patch__size",
    "embed_dim": "width",
    "depth": "depth",
    "num_heads": "block__attention__heads",
    "qkv_bias": "block__attention__qkv_bias",
    "mlp_ratio": "block__mlp__ratio",
    "act_layer": "block__mlp__activation",
    "class_token": "prefix__cls",
    "reg_tokens": "prefix__registers",
}
_OF_ALL = ("img_size", "in_chans", "num_classes")
_POOLS = {"token": "cls", "avg": "mean", "max": "max"}
_HERE_TOO = re.compile(
    r"(vit|deit3?)_(tiny|small|medium|base|large|huge)(_distilled)?_patch\d+_(224|384)|vit_\w+_dinov2"
)


def recognise(names: set[str]) -> bool:
    return is_timm(names)


def owns(config: Mapping[str, Any]) -> bool:
    """Whether a `config.json` is timm's."""
    return "architecture" in config


def describe(checkpoint: Checkpoint, like: Plain | None) -> Described:
    """A bare file: a model of timm's, or one of DeiT's, MAE's or DINOv2's own."""
    checkpoint = checkpoint.renamed(_word)
    names = _table(checkpoint)
    found = shapes.blueprint(checkpoint, names, like)
    return Described(
        NAME,
        checkpoint,
        found,
        vit.links(found, names),
        guessed(found, IMAGENET),
        unused=TIMM.unused,
        said=("the file does not say how its images were prepared: as ImageNet's usually are",),
    )


def describe_folder(checkpoint: Checkpoint, config: Mapping[str, Any], where: str) -> Described:
    """A folder with timm's configuration."""
    checkpoint = checkpoint.renamed(_word)
    found = blueprint(config, where)
    given = section(config, "pretrained_cfg", where) or dict(config)
    labels = config.get("label_names", given.get("label_names", ()))
    classes = tuple(map(str, labels)) if isinstance(labels, list) and len(labels) == found.classes else ()
    links = resnet.links(found) if isinstance(found, ResNet) else vit.links(found, _table(checkpoint))
    return Described(NAME, checkpoint, found, links, _preprocess(given, found, where), classes, TIMM.unused)


def blueprint(config: Mapping[str, Any], where: str) -> Plain | ResNet:
    """The blueprint of an architecture of timm's with its arguments."""
    name, given = str(config["architecture"]), section(config, "pretrained_cfg", where) or dict(config)
    known = {found: registry.blueprint(found) for found in registry.models()}
    base = known.get(name)
    if not isinstance(base, Plain | ResNet):
        raise UserError(f"{where}: timm's {plain(name)} is not built here{nearest(name, known)}")
    size = given.get("input_size") or (base.channels, *base.image)
    arguments = {
        "img_size": tuple(size)[1:],
        "in_chans": size[0],
        "num_classes": config.get("num_classes", given.get("num_classes", base.classes)),
        **section(config, "model_args", where),
    }
    if isinstance(base, ResNet):
        if strange := arguments.keys() - {*_OF_ALL, "global_pool"}:
            raise UserError(f"{where}: timm's argument {plain(min(strange))} has no like in a ResNet here")
        return base.change(**{_ARGUMENTS[argument]: arguments[argument] for argument in _OF_ALL})
    changes: dict[str, Any] = {"dropout": 0.0}
    for argument, value in arguments.items():
        if argument in _ARGUMENTS:
            changes[_ARGUMENTS[argument]] = value
        elif argument not in (
            "global_pool",
            "fc_norm",
            "init_values",
            "pos_embed",
            "no_embed_class",
            "dynamic_img_size",
        ):
            raise UserError(f"{where}: timm's argument {plain(argument)} has no like here")
    return base.change(**changes, **_choices(arguments, base))


def _choices(arguments: Mapping[str, Any], base: Plain) -> dict[str, Any]:
    """Arguments of timm's that mean another part here."""
    changes: dict[str, Any] = {}
    if (start := arguments.get("init_values")) is not None:
        changes["block__residual"] = {"kind": "scale", "start": start}
    elif "init_values" in arguments:
        changes["block__residual"] = "add"
    if arguments.get("pos_embed") == "none":
        changes["position"] = "none"
    elif "no_embed_class" in arguments:
        changes["position"] = {"kind": "learned", "prefix": not arguments["no_embed_class"]}
    pool = arguments.get("global_pool")
    if pool is not None and base.head.vectors is None:
        if pool not in _POOLS:
            raise UserError(f"timm's pool {plain(str(pool))!r} has no like here")
        changes["pool"] = _POOLS[pool]
        normed = arguments.get("fc_norm")
        if pool == "avg" if normed is None else normed:
            changes |= {"norm": None, "head": "normed"}
    return changes


def config(blueprint: Blueprint, preprocess: Preprocess, classes: tuple[str, ...]) -> dict[str, Any]:
    """What `timm.create_model("local-dir:...")` reads to build this blueprint."""
    named = _HERE_TOO.fullmatch(blueprint.name) is not None
    if isinstance(blueprint, Plain):
        heads = ["head", "head_dist"] if blueprint.head.vectors == 2 else ["head"]
        fallback = "deit_base_distilled_patch16_224" if len(heads) == 2 else "vit_base_patch16_224"
        arguments, first = _arguments(blueprint), "patch_embed.proj"
    else:
        heads, fallback, arguments, first = ["fc"], blueprint.name, {}, "conv1"
        arguments = {"in_chans": blueprint.channels, "num_classes": blueprint.classes}
    return {
        "architecture": blueprint.name if named else fallback,
        "num_classes": blueprint.classes,
        "label_names": list(classes),
        "model_args": arguments,
        "pretrained_cfg": {
            **_images(preprocess),
            "num_classes": blueprint.classes,
            "fixed_input_size": isinstance(blueprint, Plain),
            "first_conv": first,
            "classifier": heads if len(heads) > 1 else heads[0],
        },
    }


def _arguments(blueprint: Plain) -> dict[str, Any]:
    """Every argument that makes timm's Vision Transformer what the blueprint is."""
    data = blueprint.model_dump(mode="json")
    position, distilled = data["position"], blueprint.head.vectors == 2
    arguments = {argument: _find(data, path) for argument, path in _ARGUMENTS.items()}
    arguments |= {
        "init_values": _find(data, "block__residual__start"),
        "pos_embed": "none" if position["kind"] == "none" else "learn",
        "no_embed_class": position["kind"] == "learned" and not position["prefix"],
    }
    if distilled:
        del arguments["class_token"], arguments["reg_tokens"]
        return arguments | {"global_pool": "token"}
    pools = {ours: theirs for theirs, ours in _POOLS.items()}
    return arguments | {"global_pool": pools.get(data["pool"]["kind"]), "fc_norm": data["norm"] is None}


def _find(data: Any, path: str) -> Any:
    for step in path.split("__"):
        data = data[step] if isinstance(data, dict) and step in data else None
    return data


def _preprocess(given: Mapping[str, Any], blueprint: Blueprint, where: str) -> Preprocess:
    """timm scales the shorter side to a whole number of pixels, so that the share cut out is not quite `crop_pct`."""
    interpolation, mode = given.get("interpolation", "bicubic"), given.get("crop_mode", "center")
    if interpolation not in ("bilinear", "bicubic") or mode not in ("center", "squash"):
        raise UserError(f"{where}: images are not prepared here by {plain(str(interpolation))} and {plain(str(mode))}")
    side, share = min(blueprint.image), float(given.get("crop_pct") or 1.0)
    return Preprocess(
        size=blueprint.image,
        channels=blueprint.channels,
        mean=tuple(given.get("mean", IMAGENET[0])),
        std=tuple(given.get("std", IMAGENET[1])),
        crop=side / math.floor(side / share),
        interpolation=interpolation,
        shape="keep" if mode == "center" else "stretch",
    )


def _images(preprocess: Preprocess) -> dict[str, Any]:
    return {
        "input_size": [preprocess.channels, *preprocess.size],
        "mean": list(preprocess.mean),
        "std": list(preprocess.std),
        "interpolation": preprocess.interpolation,
        "crop_pct": math.floor(preprocess.crop * 1e6) / 1e6,  # rounded down: 224 / (224 / 248) may be less than 248
        "crop_mode": "center" if preprocess.shape == "keep" else "squash",
    }


def _table(checkpoint: Checkpoint) -> Names:
    """DINOv2's own files with registers, where the class token has a position, bear the token of masked patches."""
    return replace(TIMM, class_position={"reg_token", "mask_token"} <= checkpoint.names)


def _word(name: str) -> str:
    for pattern, ours in OTHER_WORDS:
        name = pattern.sub(ours, name)
    return name
