"""The libraries whose files and folders are known, in the order they are asked."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vitlab.models.plain import Plain
from vitlab.weights.libraries import flax, resnet, timm, torchvision, transformers
from vitlab.weights.libraries.described import Described
from vitlab.weights.reading.checkpoint import Checkpoint


class OfFiles(NamedTuple):
    """What knows a bare file of weights by the names in it."""

    recognise: Callable[[set[str]], bool]
    describe: Callable[[Checkpoint, Plain | None], Described]


class OfFolders(NamedTuple):
    """What knows a folder by its `config.json`."""

    owns: Callable[[Mapping[str, Any]], bool]
    describe: Callable[[Checkpoint, Mapping[str, Any], str], Described]


OF_FILES = tuple(OfFiles(each.recognise, each.describe) for each in (timm, transformers, torchvision, flax, resnet))
OF_FOLDERS = (OfFolders(timm.owns, timm.describe_folder), OfFolders(transformers.owns, transformers.describe_folder))
