"""A matplotlib figure that needs no screen, and what every picture has in common: panels, labels, PNG out."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vitlab.errors import UserError
from vitlab.explain.colours import RAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, LINE, ACCENT = "#1b1f24", "#59616b", "#1f5fae", "#b34700"
_DPI = 140
_LONGEST = 40  # letters of a name that is not ours


def figure(width: float, height: float, title: str) -> "Figure":
    """An empty figure of this many inches, with its title at the left."""
    check_matplotlib()
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")
    made.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, hspace=0.02, wspace=0.02)
    made.suptitle(plain(title), x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    return made


def check_matplotlib() -> None:
    """One sentence where it is missing, before anything is computed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError("pictures need matplotlib; pip install 'vitlab[explain]' brings it") from None


def panels(made: "Figure", rows: int, columns: int) -> NDArray[Any]:
    """Axes without frames, all of them switched off until something is drawn on them."""
    axes: NDArray[Any] = made.subplots(rows, columns, squeeze=False)
    for each in axes.flat:
        each.set_axis_off()
    return axes


def label(axes: "Axes", text: str, **how: Any) -> None:
    """A short line above a panel."""
    axes.set_title(plain(text), loc="left", **{"fontsize": 8, "color": INK, "pad": 3, **how})


def plain(text: str) -> str:
    """Text that is not taken for a formula, of a length that fits, in letters that the font has."""
    shown = text if len(text) <= 3 * _LONGEST else f"{text[: 3 * _LONGEST]}..."
    return "".join(letter if letter.isprintable() else "?" for letter in shown).replace("$", r"\$")


def short(name: str) -> str:
    """A name that is not ours, cut where it is long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def colour_map() -> Any:
    """Our ramp for matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("vitlab", np.array(RAMP) / 255)


def png(made: "Figure") -> bytes:
    """The figure as the bytes of a PNG file."""
    import warnings

    held = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # class names in any script
        made.savefig(held, format="png", metadata={"Software": None})
    return held.getvalue()
