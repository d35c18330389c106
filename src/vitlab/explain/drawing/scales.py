"""The maps of features of a convolutional network, stage by stage: the channels that answer most, over the image."""

from vitlab.explain.colours import enlarged, overlaid
from vitlab.explain.drawing.figure import figure, label, panels, png, short
from vitlab.explain.explanation import Explanation

_CHANNELS = 8
_SIDE = 112


def scales(found: Explanation) -> bytes | None:
    """A row a stage, its strongest channels first. None for a model without such maps."""
    if not found.scales:
        return None
    aspect = found.image.shape[0] / found.image.shape[1]
    made = figure(
        0.5 + 1.05 * _CHANNELS,
        0.6 + len(found.scales) * (1.0 * aspect + 0.25),
        f"{short(found.where)}: {found.summary}; channels that answer most, stage by stage",
    )
    for stage, (row, maps) in enumerate(zip(panels(made, len(found.scales), _CHANNELS), found.scales, strict=True)):
        strongest = (-maps.mean(axis=(1, 2))).argsort(kind="stable")[:_CHANNELS]
        for place, channel in zip(row, strongest, strict=False):
            place.imshow(overlaid(enlarged(found.image, _SIDE), maps[channel]), interpolation="nearest")
            words = f"stage {stage}: " if channel == strongest[0] else ""
            label(place, f"{words}channel {channel}", fontsize=7)
    return png(made)
