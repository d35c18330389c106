"""vitlab profile: what a model costs, before it is trained."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vitlab.commands.changes import parse_changes
from vitlab.commands.flags import Changes, MaybeInt, PositionalModel
from vitlab.errors import UserError

if TYPE_CHECKING:
    from vitlab.analysis.latency import Latency
    from vitlab.models.blueprint import Blueprint
    from vitlab.models.cost import Cost


@dataclass(frozen=True)
class Profile:
    """Counted costs, and measured latency where it was asked for."""

    blueprint: "Blueprint"
    cost: "Cost"
    latency: "Latency | None"

    def to_json(self) -> str:
        found: dict[str, Any] = {"model": self.blueprint.name, **self.cost.model_dump()}
        if self.latency:
            found["latency"] = {**self.latency.model_dump(), "images_per_second": self.latency.images_per_second}
        return json.dumps(found)

    def __str__(self) -> str:
        counted, memory = self.cost, self.cost.memory
        lines = [f"{self.blueprint.name}: {counted.parameters:,} parameters, {counted.gmacs:.3f} GMACs an image", ""]
        lines += [
            f"  {part:<12} {count:>14,}  {count / counted.parameters:6.1%}"
            for part, count in counted.by_part.items()
            if count
        ]
        lines += ["", f"Memory of a training step, {counted.batch} images, {counted.precision}, AdamW:", ""]
        lines += [f"  {term:<12} {size / 2**20:>10,.1f} MiB" for term, size in [*memory, ("total", memory.total)]]
        if self.latency:
            lines += [
                "",
                f"Measured on {self.latency.device}: {1000 * self.latency.median:.2f} ms for {self.latency.batch} "
                f"image{'s' if self.latency.batch > 1 else ''} ({self.latency.images_per_second:,.0f} images/s; "
                f"best {1000 * self.latency.best:.2f} ms)",
            ]
        return "\n".join(lines)


def profile(
    model: PositionalModel,
    /,
    *,
    size: MaybeInt = None,
    classes: MaybeInt = None,
    channels: MaybeInt = None,
    change: Changes = (),
    batch: int = 128,
    precision: Literal["float32", "bfloat16"] = "float32",
    latency: MaybeInt = None,
) -> Profile:
    """Say what a model costs: parameters by part, multiply-adds, memory of training by term, latency on request.

    Args:
        model: A name from `vitlab models`, or a run's folder (in Python also a blueprint).
        size: Side of the images in pixels, where not the model's own.
        classes: Number of classes, where not the model's own.
        channels: Channels of the images, where not the model's own.
        change: Parts of the model to change, such as pool=mean or block.attention.core=performer.
        batch: Images of a training step, for its memory.
        precision: Of that step.
        latency: Measure a forward pass of so many images here.
    """
    for flag, value in (("batch", batch), ("latency", latency)):
        if value is not None and value < 1:
            raise UserError(f"--{flag} wants at least 1, not {value}")
    changes = parse_changes(change)
    asked = {"image": size, "classes": classes, "channels": channels}
    changes = {**{field: value for field, value in asked.items() if value is not None}, **changes}

    import torch

    from vitlab.analysis.latency import latency as measure
    from vitlab.bundle import read_card
    from vitlab.bundle_path import CARD, check_bundle
    from vitlab.models import registry
    from vitlab.models.cost import cost

    described = model
    if isinstance(model, str | Path):
        described = (
            read_card(check_bundle(model) / CARD).blueprint if Path(model).is_dir() else registry.blueprint(str(model))
        )
    described = described.change(**changes)
    measured = None
    if latency is not None:
        images = torch.rand(latency, described.channels, *described.image)
        measured = measure(described.build().eval(), images)
    return Profile(described, cost(described, batch, precision), measured)
