"""All that is told of a trained model without looking at one image in particular."""

from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from vitlab.bundle import Bundle
from vitlab.data.memory import Pictures
from vitlab.explain.anatomy.ablation import Drop, drops
from vitlab.explain.anatomy.heads import Head, heads
from vitlab.explain.anatomy.probes import Probe, probes, vectors
from vitlab.explain.methods.method import Images
from vitlab.explain.record import attention_layers, choose

_BATCH = 32
_LOOKED_AT = 64  # images whose maps are averaged
_NAMED = 5  # heads named as those that matter most


class Anatomy(BaseModel):
    """Heads, what they add to the accuracy, and what each layer knows."""

    model_config = ConfigDict(frozen=True)

    model: str
    images: int  # held out, that accuracy and probes are counted on
    accuracy: float
    heads: tuple[Head, ...]
    drops: tuple[Drop, ...]
    probes: tuple[Probe, ...]

    def to_json(self) -> str:
        """What scripts read."""
        from pydantic_core import to_json

        kinds = [head.model_dump() | {"kind": head.kind} for head in self.heads]
        return to_json(self.model_dump() | {"heads": kinds}).decode()

    def __str__(self) -> str:
        lines = [
            f"{self.model}: {self.accuracy:.1%} of {self.images} held-out images right",
            "",
            f"{'layer':>5} {'looks how far':>22} {'entropy':>9} {'heads':26} {'linear probe':>12} {'neighbours':>11}",
        ]
        for probe in self.probes:
            of = [head for head in self.heads if head.layer == probe.layer]
            far = [head.distance for head in of]
            bits = [head.entropy for head in of if head.entropy is not None]
            entropy = f"{sum(bits) / len(bits):.1f} bits" if bits else "none"
            span = f"{sum(far) / len(far):.1f} px ({min(far):.1f} to {max(far):.1f})"
            known = f"{probe.linear:>12.1%} {probe.neighbours:>11.1%}"
            lines.append(f"{probe.layer:>5} {span:>22} {entropy:>9} {_kinds(of):26} {known}")
        ranked = sorted(self.drops, key=lambda drop: drop.drop, reverse=True)
        lines += ["", "without this head the accuracy falls by:"]
        lines += [
            f"  layer {drop.layer} head {drop.head}: {100 * drop.drop:.1f} points (+- {100 * drop.half:.1f})"
            for drop in ranked[:_NAMED]
        ]
        idle = sum(drop.drop - drop.half <= 0 for drop in self.drops)
        lines.append(f"  {idle} of {len(self.drops)} heads are not missed, as far as {self.images} images can tell")
        return "\n".join(lines)


def anatomy(bundle: Bundle, known: Pictures, held: Pictures, tell: Callable[[str], None] = lambda _: None) -> Anatomy:
    """Look at everything: `known` are training images for the probes to learn from, `held` are held-out ones."""
    choose(attention_layers(bundle.model), None)  # a model without attention is refused before anything is computed
    model, device = bundle.model, next(bundle.model.parameters()).device
    tell("heads")
    found = heads(model, _batches(bundle, held, _LOOKED_AT))
    tell("probes")
    probed = probes(
        vectors(model, _batches(bundle, known)), known.labels, vectors(model, _batches(bundle, held)), held.labels
    )
    tell("silencing each head")
    images = bundle.card.preprocess.normalise(held.images.to(device))
    accuracy, lost = drops(model, images, held.labels.to(device))
    return Anatomy(
        model=bundle.card.blueprint.name,
        images=len(held),
        accuracy=accuracy,
        heads=found,
        drops=lost,
        probes=probed,
    )


def _batches(bundle: Bundle, pictures: Pictures, most: int | None = None) -> Iterator[Images]:
    device = next(bundle.model.parameters()).device
    for part in pictures.images[:most].split(_BATCH):
        yield bundle.card.preprocess.normalise(part.to(device))


def _kinds(found: list[Head]) -> str:
    counts = {kind: sum(head.kind == kind for head in found) for kind in ("local", "global", "sink")}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
