"""A pretrained model for a run that names none: one of the catalogue that suits the images and is at hand.

Those in the cache come first. Otherwise the hub is asked about the best of them: once, not for long, and not at all
where none suits. Whatever goes wrong on the way, the run begins from scratch and its plan says why.
"""

from dataclasses import replace

from vitlab.errors import UserError
from vitlab.models import registry
from vitlab.training import auto
from vitlab.training.start import Begun, Classes, plan_start
from vitlab.weights import hub
from vitlab.weights.catalogue import CATALOGUE


def find(
    side: int, images: int, channels: int, classes: Classes, size: int | None, device: str
) -> tuple[Begun | None, str]:
    """What a run takes from the pretrained model that suits it best; None and why where it begins from scratch."""
    names, why = auto.pretrained(min(side, size or side), images, channels, device)
    if names and not (names := tuple(name for name in names if _takes(name, size))):
        why = f"no pretrained model here has patches that divide {size} pixels"
    if not names:
        return None, f"from scratch: {why}"
    try:
        sources = [CATALOGUE[name].source for name in names]
        source = next(filter(hub.at_hand, sources), None)
        if source is None and (refusal := hub.why_not(sources[0])):
            return None, f"from scratch: no pretrained model is in the cache, and {refusal}"
        commit, where = (hub.revision(source), "in the cache") if source else (None, "on the hub")
        begun = plan_start(source or sources[0], classes, size, channels, commit)
    except UserError as error:
        return None, f"from scratch: a pretrained model is at hand, but {error}"
    why = f"pretrained, {where}, and suits images of {side} pixels (or --from none)"
    return replace(begun, reason=f"{why}; {begun.reason}"), ""


def _takes(name: str, size: int | None) -> bool:
    """Whether it can be shown images of that size."""
    try:
        registry.blueprint(name).change(**({"image": size} if size else {}))
    except UserError:
        return False
    return True
