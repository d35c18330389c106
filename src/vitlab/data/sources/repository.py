"""Which data set of the Hugging Face hub a person means by `hf:NAME[:CONFIG]`; nothing heavy is imported to say."""

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

from vitlab.errors import UserError

HUB = "hf:"
_CONFIG = re.compile(r"[\w.+-]{1,200}")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")


class Repository(NamedTuple):
    """A name of the hub, or a folder here that is laid out like one there; the configuration, if it has several."""

    name: str
    config: str | None
    folder: Path | None


def repository(data: str) -> Repository:
    """What `hf:NAME[:CONFIG]` says."""
    name, config = data.removeprefix(HUB), ""
    if ":" in name and not Path(name).is_dir():
        name, _, config = name.rpartition(":")
    folder = Path(name) if name and Path(name).is_dir() else None
    if (folder is None and not _NAME.fullmatch(name)) or (config and not _CONFIG.fullmatch(config)):
        raise UserError(f"{data} is no name of a data set; it wants hf:NAME or hf:NAME:CONFIG, as hf:uoft-cs/cifar10")
    return Repository(name, config or None, folder)


def check_repository(data: str) -> Repository:
    """The same, where the library that reads it is installed."""
    found = repository(data)
    if importlib.util.find_spec("datasets") is None:
        raise UserError(f"{data} is read by datasets, which is missing; pip install 'vitlab[hub]'")
    return found
