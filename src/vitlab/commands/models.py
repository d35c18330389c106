"""vitlab models: the models there are, and the weights that can be had for them."""

import json
from dataclasses import dataclass
from typing import Annotated

import tyro.conf

from vitlab.commands.flags import Switch


@dataclass(frozen=True)
class ModelList:
    """Known models with what they are made for and their size."""

    rows: tuple[dict[str, object], ...]

    def to_json(self) -> str:
        return json.dumps(self.rows)

    def __str__(self) -> str:
        lines = [f"{'model':<28} {'image':>9} {'classes':>7} {'parameters':>12} {'GMACs':>7}"]
        lines += [
            f"{row['name']:<28} {row['image']:>9} {row['classes']:>7} {row['parameters']:>12,} {row['gmacs']:>7.3f}"
            for row in self.rows
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class PretrainedList(ModelList):
    """Checkpoints with where they are, their licence, how images are prepared, and their published accuracy."""

    def __str__(self) -> str:
        lines = [f"{'model':<33} {'top-1':>6}  {'licence':<11} {'images':<21} source"]
        for row in self.rows:
            images = f"{row['image']}, crop {row['crop']}, {row['figures']}"
            top1 = "" if row["top1"] is None else f"{row['top1']:.2f}"
            lines.append(f"{row['name']:<33} {top1:>6}  {row['licence']:<11} {images:<21} {row['source']}")
        told = (
            "top-1: per cent of ImageNet-1k's validation images, as timm publishes it; images: size, the share cut out"
        )
        return "\n".join([*lines, "", f"{told}, mean and deviation (0.5 each, or ImageNet's)"])


def models(
    pattern: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[PATTERN]")] = "*",
    /,
    *,
    pretrained: Switch = False,
) -> ModelList:
    """List the models that `create` and `train` know, with their parameters and multiply-adds.

    Args:
        pattern: Only names like this, such as "vit_small*".
        pretrained: List the checkpoints that can be fetched by a model's name instead.
    """
    import fnmatch

    from vitlab.errors import UserError, nearest
    from vitlab.models import registry
    from vitlab.weights.catalogue import CATALOGUE

    known = CATALOGUE if pretrained else registry.models()
    names = [name for name in known if fnmatch.fnmatch(name, pattern)]
    if not names:
        what = "checkpoint is" if pretrained else "model is"
        raise UserError(f"no {what} named like {pattern!r}{nearest(pattern, known)}")
    if pretrained:
        return PretrainedList(tuple({"name": name, **CATALOGUE[name]._asdict()} for name in names))
    return ModelList(tuple(_counted(name) for name in names))


def _counted(name: str) -> dict[str, object]:
    from vitlab.models import registry
    from vitlab.models.cost import cost

    blueprint = registry.blueprint(name)
    counted = cost(blueprint, batch=1)
    return {
        "name": name,
        "image": f"{blueprint.image[0]}x{blueprint.image[1]}x{blueprint.channels}",
        "classes": blueprint.classes,
        "parameters": counted.parameters,
        "gmacs": counted.gmacs,
    }
