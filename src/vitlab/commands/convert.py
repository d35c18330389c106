"""vitlab convert: weights from anywhere to a bundle, and from a bundle to where other libraries open them."""

import datetime
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro.conf

from vitlab.commands.flags import MaybeInt, MaybeWord
from vitlab.commands.spell import spell
from vitlab.errors import UserError
from vitlab.files import check_writable, saying_why
from vitlab.weights.source import check_source

Source = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SOURCE")]
TargetPath = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="TARGET")]
MaybeModel = Annotated[Any, tyro.conf.arg(metavar="NAME", constructor=str, help_behavior_hint="")]


@dataclass(frozen=True)
class Converted:
    """What was written, and what was changed on the way."""

    path: Path
    to: str
    model: str
    classes: int
    said: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(
            {"path": str(self.path), "to": self.to, "model": self.model, "classes": self.classes, "said": self.said}
        )

    def __str__(self) -> str:
        kind = "a bundle" if self.to == "bundle" else f"a folder for {self.to}"
        return f"{self.path}: {self.model} with {self.classes} classes, {kind}"


def convert(
    source: Source,
    target: TargetPath,
    /,
    *,
    to: Literal["bundle", "timm", "transformers"] = "bundle",
    model: MaybeModel = None,
    size: MaybeInt = None,
    patch: MaybeInt = None,
    channels: MaybeInt = None,
    classes: MaybeInt = None,
    pool: MaybeWord = None,
) -> Converted:
    """Make a bundle of anyone's weights, or of a bundle a folder that timm or transformers opens.

    Args:
        source: A run, a bundle, a file or folder of timm, transformers, torchvision or the original code, a name on the
            hub such as timm:vit_base_patch16_224.augreg_in21k_ft_in1k or hf:google/vit-base-patch16-224, or a name of
            `vitlab models --pretrained`.
        target: The folder to write, which must not be there yet.
        to: A bundle, or a folder for timm.create_model("local-dir:TARGET") or transformers' from_pretrained("TARGET").
        model: What a bare file is a model of, where the shapes of its weights do not tell; all else says it itself.
        size: Side of the images in pixels to fit the weights to.
        patch: Side of the patches to fit them to.
        channels: Channels of the images to fit them to.
        classes: Number of classes, with a new head where it is another; 0 leaves the head out.
        pool: How the head's vector is made of the tokens, such as mean.
    """
    command = spell(convert, locals())
    target = Path(target)
    if target.exists():
        raise UserError(f"{target} is there already; name another folder, or move it away")
    asked = {"size": (size, 1), "patch": (patch, 1), "channels": (channels, 1), "classes": (classes, 0)}
    for flag, (value, least) in asked.items():
        if value is not None and value < least:
            raise UserError(f"--{flag} wants at least {least}, not {value}")
    check_source(str(source), told=model is not None)
    check_writable(target.parent)

    import torch

    import vitlab
    from vitlab.bundle import Bundle
    from vitlab.weights.load import load
    from vitlab.weights.save import save

    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        print(f"  {sentence}", file=sys.stderr)

    found = load(source, model=model, size=size, patch=patch, channels=channels, classes=classes, pool=pool, say=say)
    if not found.card.command:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        origin = {
            "command": command,
            "created": now,
            "versions": {"vitlab": vitlab.__version__, "torch": torch.__version__},
        }
        found = Bundle(found.model, found.card.model_copy(update=origin))
    with saying_why(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    save(found, target, to, say)
    return Converted(target, to, found.card.blueprint.name, len(found.classes), tuple(said))
