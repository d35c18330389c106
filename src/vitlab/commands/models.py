"""vitlab models: the models there are."""

import json
from dataclasses import dataclass
from typing import Annotated

import tyro.conf


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


def models(pattern: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[PATTERN]")] = "*", /) -> ModelList:
    """List the models that `create` and `train` know, with their parameters and multiply-adds.

    Args:
        pattern: Only names like this, such as "vit_small*".
    """
    from vitlab.analysis.cost import cost
    from vitlab.errors import UserError, nearest
    from vitlab.models import registry

    names = registry.models(pattern)
    if not names:
        raise UserError(f"no model is named like {pattern!r}{nearest(pattern, registry.models())}")
    rows = []
    for name in names:
        blueprint = registry.blueprint(name)
        counted = cost(blueprint, batch=1)
        rows.append(
            {
                "name": name,
                "image": f"{blueprint.image[0]}x{blueprint.image[1]}x{blueprint.channels}",
                "classes": blueprint.classes,
                "parameters": counted.parameters,
                "gmacs": counted.gmacs,
            }
        )
    return ModelList(tuple(rows))
