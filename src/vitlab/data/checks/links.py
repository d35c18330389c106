"""Where a symbolic link leads: within the data, out of them, in a circle, or nowhere."""

from pathlib import Path
from typing import Literal

Leads = Literal["inside", "outside", "circle", "nowhere"]


def leads(link: Path, root: Path) -> Leads:
    """Where `link` leads, seen from the resolved folder `root`; nothing is opened on the way."""
    try:
        target = link.resolve(strict=True)
        if not target.is_relative_to(root):
            return "outside"
        return "circle" if link.parent.resolve(strict=True).is_relative_to(target) else "inside"
    except (OSError, RuntimeError):  # RuntimeError: a link to itself, before Python 3.13
        return "nowhere"
