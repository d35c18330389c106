"""What a source of weights can be. Nothing heavy is imported to say that something is none."""

from pathlib import Path

from vitlab.errors import UserError, nearest
from vitlab.weights.catalogue import CATALOGUE

_HUB = ("timm:", "hf:")


def is_name(source: str) -> bool:
    """Whether it is a name of the hub; there may be no such repository."""
    return source.startswith(_HUB)


def full_name(source: str) -> str:
    """The name on the hub of one of the catalogue's; of anything else, itself."""
    return CATALOGUE[source].source if source in CATALOGUE else source


def at_commit(source: str, commit: str | None) -> str:
    """A name that means the same weights for good; the source itself where no commit is known."""
    return f"{full_name(source).partition('@')[0]}@{commit}" if commit else source


def check_source(source: str, told: bool = False) -> None:
    """Refuse what is no file, no folder and no name, and to be told what it is a model of where it says so itself."""
    if not (Path(source).exists() or is_name(source) or source in CATALOGUE):
        raise UserError(
            f"no weights at {source}: no such file or folder is there, and it is no name of the hub (timm:..., hf:...)"
            f"{nearest(source, CATALOGUE) or '; `vitlab models --pretrained` lists names'}"
        )
    if told and not Path(source).is_file():
        raise UserError(
            f"{source} says itself what it is a model of; --model is for bare files of weights, leave it out"
        )
