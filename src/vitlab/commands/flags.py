"""Types of arguments as they look in help: `--epochs INT` rather than `--epochs {None}|INT`."""

from pathlib import Path
from typing import Annotated, Any

import tyro.conf


def _shown_as(word: str, **how: Any) -> Any:
    return tyro.conf.arg(metavar=word, **how)


Data = Annotated[tyro.conf.Positional[str], _shown_as("DATA")]
MaybeData = Annotated[tyro.conf.Positional[str | None], _shown_as("[DATA]", help_behavior_hint="")]
RunPath = Annotated[tyro.conf.Positional[Path], _shown_as("RUN")]
Images = Annotated[tyro.conf.Positional[tuple[Path, ...]], _shown_as("IMAGE [IMAGE ...]")]
Changes = Annotated[tuple[str, ...], _shown_as("PART=VALUE [PART=VALUE ...]", help_behavior_hint="")]

# A blueprint in Python, a name on the command line; the type is Any so that help imports no torch.
Model = Annotated[Any, _shown_as("NAME", constructor=str, help_behavior_hint="(default: auto)")]
PositionalModel = Annotated[tyro.conf.Positional[Any], _shown_as("MODEL", constructor=str)]

# None leaves the choice to the plan, the recipe or the model.
MaybeInt = Annotated[int | None, _shown_as("INT", help_behavior_hint="")]
MaybeFloat = Annotated[float | None, _shown_as("FLOAT", help_behavior_hint="")]
MaybeModel = Annotated[str | None, _shown_as("RUN", help_behavior_hint="")]
Begin = Annotated[str | None, _shown_as("RUN", name="from", help_behavior_hint="(default: auto)")]
Freeze = Annotated[str | None, _shown_as("all|N", help_behavior_hint="")]
MaybePath = Annotated[Path | None, _shown_as("PATH", help_behavior_hint="")]
Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")]

# A loaded bundle in Python, a path on the command line.
RunOrBundle = Annotated[tyro.conf.Positional[Any], _shown_as("RUN", constructor=Path)]
MaybeImages = Annotated[tyro.conf.Positional[tuple[Path, ...]], _shown_as("[IMAGE ...]", help_behavior_hint="")]
MaybeWord = Annotated[str | None, _shown_as("NAME", help_behavior_hint="")]
Names = Annotated[tuple[str, ...], _shown_as("NAME [NAME ...]", help_behavior_hint="")]
Count = Annotated[int, _shown_as("INT")]
