"""Checkpoints on the Hugging Face hub, by name: `timm:vit_base_patch16_224.augreg_in21k_ft_in1k`, `hf:OWNER/NAME`.

huggingface-hub fetches into its cache and knows the person's token; what is said here repeats neither its answers nor
the token. In its offline mode (HF_HUB_OFFLINE=1) only the cache is asked.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vitlab.bundle import Bundle
from vitlab.errors import UserError
from vitlab.strangers import read_json
from vitlab.weights.foreign import CONFIG, open_foreign_folder
from vitlab.weights.libraries.processors import FILE as PROCESSOR
from vitlab.weights.reading.open_file import IN_FOLDER, INDEX
from vitlab.weights.reading.safetensors_file import shard_names
from vitlab.weights.say import Say

_NAME = re.compile(r"(timm|hf):([\w.-]+(?:/[\w.-]+)?)(?:@([\w./-]+))?")
_LABELS = ("huggingface/label-files", "imagenet-1k-id2label.json")  # ImageNet's classes in the order all models share


class Place(NamedTuple):
    """A repository of the hub, at a revision where one was asked for."""

    repository: str
    revision: str | None


def place(source: str) -> Place:
    """The repository that a name stands for."""
    found = _NAME.fullmatch(source)
    if found is None or (found[1] == "hf") != ("/" in found[2]):
        raise UserError(f"{source!r} is no name of the hub; write timm:NAME or hf:OWNER/NAME, perhaps @REVISION")
    return Place(f"timm/{found[2]}" if found[1] == "timm" else found[2], found[3])


def at_hand(source: str) -> bool:
    """Whether the weights are in the cache, so that loading them asks nobody."""
    from huggingface_hub import try_to_load_from_cache

    there = place(source)
    return any(
        isinstance(try_to_load_from_cache(there.repository, name, revision=there.revision), str) for name in IN_FOLDER
    )


def open_name(source: str, say: Say) -> Bundle:
    """The checkpoint of that name as a bundle."""
    there = place(source)
    config = _fetch(there, CONFIG)
    if config is None:
        raise UserError(f"{source} has no {CONFIG}: it holds no model that is known here")
    _fetch(there, PROCESSOR)
    for name in IN_FOLDER:
        if (found := _fetch(there, name)) is not None:
            for shard in shard_names(found) if name == INDEX else ():
                _fetch(there, shard)
            return open_foreign_folder(config.parent, source, say, labels=_labels)
    raise UserError(f"{source} holds no weights: there is none of {', '.join(IN_FOLDER)}")


def _labels(count: int) -> tuple[str, ...]:
    """Names for the thousand classes of ImageNet, which timm's files leave out; none where they cannot be had."""
    if count != 1000:
        return ()
    try:
        found = _fetch(Place(_LABELS[0], None), _LABELS[1], kind="dataset")
    except UserError:
        return ()
    named = read_json(found, "list of classes", "download it again") if found else None
    if not isinstance(named, dict) or set(named) != {str(i) for i in range(count)}:
        return ()
    return tuple(str(named[str(i)]) for i in range(count))


def _fetch(there: Place, name: str, kind: str = "model") -> Path | None:
    """One file, from the cache or the hub; None where the repository has no such file."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _telling(there):
        try:
            return Path(hf_hub_download(there.repository, name, revision=there.revision, repo_type=kind))
        except LocalEntryNotFoundError:
            if name != CONFIG and _has_config(there):
                return None  # offline, and everything that was ever fetched of it is at hand
            raise
        except EntryNotFoundError:
            return None


def _has_config(there: Place) -> bool:
    from huggingface_hub import constants, try_to_load_from_cache

    return constants.HF_HUB_OFFLINE and isinstance(
        try_to_load_from_cache(there.repository, CONFIG, revision=there.revision), str
    )


@contextlib.contextmanager
def _telling(there: Place) -> Iterator[None]:
    """The hub's refusals in a sentence each. Their own words may hold addresses with secrets in them."""
    from huggingface_hub import errors
    from huggingface_hub.utils import logging

    name, before = there.repository, logging.get_verbosity()
    logging.set_verbosity_error()  # of its own tries and retries
    try:
        yield
    except errors.GatedRepoError:
        raise UserError(f"{name} asks for consent: give it on its page, then log in with `hf auth login`") from None
    except errors.RepositoryNotFoundError:
        raise UserError(f"the hub has no {name}, or shows it only to those who log in (`hf auth login`)") from None
    except errors.RevisionNotFoundError:
        raise UserError(f"{name} has no revision {there.revision}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise UserError(
            f"{name} is not in the cache and the hub cannot be asked (offline, or HF_HUB_OFFLINE is set); "
            "try again with a connection, or give a file or folder"
        ) from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no answer")
        raise UserError(f"the hub refused {name} ({status}); try again later") from None
    except errors.HFValidationError:
        raise UserError(f"{name!r} is no name that the hub could have") from None
    except OSError as error:
        raise UserError(f"cannot fetch {name}: {error.strerror or type(error).__name__}; try again later") from None
    finally:
        logging.set_verbosity(before)
