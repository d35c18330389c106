"""transformers' `config.json`: ViT, DeiT, DINOv2 with and without registers, and the encoder of ViT-MAE."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vitlab.errors import UserError, nearest
from vitlab.models.plain import Plain
from vitlab.parts.patch import as_pair
from vitlab.strangers import plain
from vitlab.weights.libraries import shapes
from vitlab.weights.libraries.described import Described
from vitlab.weights.libraries.processors import as_vits, read_processor
from vitlab.weights.maps import vit
from vitlab.weights.maps.names import Names
from vitlab.weights.maps.transformers import OTHER_WORDS, OTHER_WORDS_OF_MLP, is_transformers, names
from vitlab.weights.reading.checkpoint import Checkpoint

NAME = "transformers"
_ACTIVATIONS = {"gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
_KINDS = ("vit", "deit", "dinov2", "dinov2_with_registers", "vit_mae")
_BASES = {
    "vit": "vit.",
    "deit": "deit.",
    "dinov2": "dinov2.",
    "dinov2_with_registers": "dinov2_with_registers.",
    "vit_mae": "vit.",
}
_EPS = {"vit": 1e-12, "deit": 1e-12, "vit_mae": 1e-12, "dinov2": 1e-6, "dinov2_with_registers": 1e-6}  # its defaults


def recognise(names: set[str]) -> bool:
    return is_transformers(names)


def owns(config: Mapping[str, Any]) -> bool:
    """Whether a `config.json` is transformers'."""
    return "model_type" in config


def describe(checkpoint: Checkpoint, like: Plain | None) -> Described:
    """A bare file, whose names tell the model type but for its settings."""
    has = {name.split("embeddings.")[0] for name in checkpoint.names if "embeddings.patch_embeddings" in name}
    base = has.pop()
    scaled = any(".layer_scale1." in name for name in checkpoint.names)
    registers = f"{base}embeddings.register_tokens" in checkpoint.names
    distilled = f"{base}embeddings.distillation_token" in checkpoint.names
    kind = ("dinov2_with_registers" if registers else "dinov2") if scaled else "deit" if distilled else "vit"
    checkpoint, table = _harmonised(checkpoint, kind, base)
    norm = {"kind": "layer", "eps": _EPS[kind]}
    known: dict[str, Any] = {} if like else {"norm": norm, "block__norm": norm}
    wide = checkpoint.shapes.get("classifier.weight", (0, 0))[1]
    if scaled and wide == 2 * shapes.blueprint(checkpoint, table, like, **known).width:
        known["pool"] = "cls_mean"
    found = shapes.blueprint(checkpoint, table, like, **known)
    told = ("the file does not say how its images were prepared: as ImageNet's are for transformers' ViT",)
    preprocess = as_vits(found)
    return Described(NAME, checkpoint, found, vit.links(found, table), preprocess, unused=table.unused, said=told)


def describe_folder(checkpoint: Checkpoint, config: Mapping[str, Any], where: str) -> Described:
    """A folder as `save_pretrained` writes it."""
    found = blueprint(config, where)
    kind = config["model_type"]
    base = _BASES[kind] if any(name.startswith(_BASES[kind]) for name in checkpoint.names) else ""
    checkpoint, table = _harmonised(checkpoint, kind, base)
    if table.head.format("weight") not in checkpoint.names:
        found = found.change(classes=0, **({"pool": "cls"} if found.pool.vectors == 2 else {}), head="linear")
    classes = _classes(config, found.classes)
    preprocess, said = read_processor(Path(where).parent, found)
    return Described(NAME, checkpoint, found, vit.links(found, table), preprocess, classes, table.unused, said)


def blueprint(config: Mapping[str, Any], where: str) -> Plain:
    """The blueprint that says the same as a configuration."""
    kind = config["model_type"]
    if kind not in _KINDS:
        raise UserError(f"{where}: transformers' {plain(str(kind))} is not built here{nearest(str(kind), _KINDS)}")
    if config.get("use_swiglu_ffn"):
        raise UserError(f"{where}: a gated MLP (use_swiglu_ffn) is not built here")
    activation = config.get("hidden_act", "gelu")
    if activation not in _ACTIVATIONS:
        raise UserError(f"{where}: the activation {plain(str(activation))} is not built here")
    dino, width = kind.startswith("dinov2"), config.get("hidden_size", 768)
    norm = {"kind": "layer", "eps": config.get("layer_norm_eps", _EPS[kind])}
    patch = config.get("patch_size", 16)
    registers = config.get("num_register_tokens", 4) if kind == "dinov2_with_registers" else 0
    teacher, classes = _teacher(config), _count(config)
    data: dict[str, Any] = {
        "name": f"{kind}_{width}x{config.get('num_hidden_layers', 12)}",
        "image": as_pair(_sides(config.get("image_size", 224))),
        "channels": config.get("num_channels", 3),
        "classes": classes,
        "width": width,
        "depth": config.get("num_hidden_layers", 12),
        "patch": {"kind": "conv", "size": _sides(patch)},
        "prefix": {"cls": True, "distillation": kind == "deit", "registers": registers},
        "position": {
            "kind": "learned",
            "prefix": not registers,
            "resample": "bicubic_aliased" if dino else "bicubic",
        },
        "block": {
            "kind": "pre",
            "attention": {
                "kind": "self",
                "heads": config.get("num_attention_heads", 12),
                "qkv_bias": config.get("qkv_bias", True),
            },
            "mlp": {
                "kind": "mlp",
                "ratio": config.get("mlp_ratio", 4) if dino else config.get("intermediate_size", 4 * width) / width,
                "activation": _ACTIVATIONS[activation],
            },
            "norm": norm,
            "residual": {"kind": "scale", "start": config.get("layerscale_value", 1.0)} if dino else {"kind": "add"},
        },
        "norm": norm,
        "pool": "cls_distillation" if teacher else "cls_mean" if dino and classes else "cls",
        "head": "averaged" if teacher else "linear",
        "dropout": config.get("hidden_dropout_prob", 0.0),
        "drop_path": config.get("drop_path_rate", 0.0),
    }
    return Plain.read(data, where)


def kind_of(blueprint: Plain) -> str:
    """The model type that may be able to say a blueprint."""
    if blueprint.block.model_dump()["residual"]["kind"] == "scale":
        return "dinov2_with_registers" if blueprint.prefix.registers else "dinov2"
    return "deit" if blueprint.prefix.distillation else "vit"


def table(blueprint: Plain) -> Names:
    """The names in files of that model type."""
    kind = kind_of(blueprint)
    return names(kind, _BASES[kind] if blueprint.classes else "", teacher=blueprint.head.vectors == 2)


def config(blueprint: Plain, classes: tuple[str, ...]) -> dict[str, Any]:
    """What `AutoModelForImageClassification.from_pretrained` reads to build this blueprint."""
    data, kind = blueprint.model_dump(mode="json"), kind_of(blueprint)
    block = data["block"]
    words = {ours: theirs for theirs, ours in _ACTIVATIONS.items()}
    ratio = block["mlp"]["ratio"]
    found: dict[str, Any] = {
        "model_type": kind,
        "architectures": [_architecture(blueprint, kind)],
        "image_size": _shortest(blueprint.image),
        "patch_size": _shortest(as_pair(_sides(data["patch"].get("size", 16)))),
        "num_channels": blueprint.channels,
        "hidden_size": blueprint.width,
        "num_hidden_layers": blueprint.depth,
        "num_attention_heads": block["attention"]["heads"],
        "qkv_bias": block["attention"].get("qkv_bias", True),
        "hidden_act": words.get(block["mlp"]["activation"]),
        "layer_norm_eps": block["norm"]["eps"],
        "hidden_dropout_prob": blueprint.dropout,
        "attention_probs_dropout_prob": blueprint.dropout,
        "id2label": {str(i): name for i, name in enumerate(classes)},
        "label2id": {name: i for i, name in enumerate(classes)},
        "dtype": "float32",
    }
    if kind.startswith("dinov2"):
        found |= {
            "mlp_ratio": int(ratio) if ratio == int(ratio) else ratio,
            "layerscale_value": block["residual"]["start"],
        }
        found |= {"drop_path_rate": blueprint.drop_path, "use_swiglu_ffn": False}
        found |= {"num_register_tokens": blueprint.prefix.registers} if blueprint.prefix.registers else {}
    else:
        found["intermediate_size"] = int(blueprint.width * ratio)
    return found


def _architecture(blueprint: Plain, kind: str) -> str:
    stem = {"vit": "ViT", "deit": "DeiT", "dinov2": "Dinov2", "dinov2_with_registers": "Dinov2WithRegisters"}[kind]
    teacher = "WithTeacher" if blueprint.head.vectors == 2 else ""
    return f"{stem}ForImageClassification{teacher}" if blueprint.classes else f"{stem}Model"


def _harmonised(checkpoint: Checkpoint, kind: str, base: str) -> tuple[Checkpoint, Names]:
    """The checkpoint under the names on disk, and the table of them."""
    words = OTHER_WORDS if kind.startswith("dinov2") else OTHER_WORDS + OTHER_WORDS_OF_MLP

    def word(name: str) -> str:
        for pattern, other in words:
            name = pattern.sub(other, name)
        return name

    checkpoint = checkpoint.renamed(word)
    return checkpoint, names(kind, base, teacher="cls_classifier.weight" in checkpoint.names)


def _teacher(config: Mapping[str, Any]) -> bool:
    architectures = config.get("architectures") or [""]
    return str(architectures[0]).endswith("WithTeacher")


def _count(config: Mapping[str, Any]) -> int:
    labels = config.get("id2label")
    return len(labels) if isinstance(labels, dict) else int(config.get("num_labels", 2))


def _classes(config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The names in their order; the ones that transformers makes up are none."""
    labels = config.get("id2label")
    if not isinstance(labels, dict) or set(labels) != {str(i) for i in range(count)}:
        return ()
    found = tuple(str(labels[str(i)]) for i in range(count))
    return () if found == tuple(f"LABEL_{i}" for i in range(count)) else found


def _sides(size: Any) -> Any:
    return tuple(size) if isinstance(size, list) else size


def _shortest(pair: tuple[int, int]) -> int | list[int]:
    return pair[0] if pair[0] == pair[1] else list(pair)
