"""Checkpoints on the Hugging Face hub, by name: `timm:vit_base_patch16_224.augreg_in21k_ft_in1k`, `hf:OWNER/NAME`.

huggingface-hub fetches into its cache and knows the person's token; what is said here repeats neither its answers nor
the token. It asks a hub that does not answer again and again, for half a minute and more; here the hub is asked once,
and where it gives nothing, what is in the cache has to do. In offline mode (HF_HUB_OFFLINE=1) nobody is asked.
"""

import contextlib
import re
import threading
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
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PATIENCE = 2.0  # seconds to wait for an answer that one could do without
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
    """Whether all that loading wants is in the cache, so that it can ask nobody."""
    return _complete(place(source))


def revision(source: str) -> str | None:
    """The commit that the cache holds under a name: with it behind an @, the name means the same weights for good."""
    config = _kept(place(source), CONFIG)
    return config.parent.name if config else None


def why_not(source: str) -> str:
    """Why the hub does not give a checkpoint now, in a few words; empty where it does. For those who can do without.

    It is asked once and waited for two seconds in all: resolving its address may take longer than any time-out of a
    connection says, and goes on in a thread of its own.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE keeps from asking the hub"
    there, found = place(source), list[Exception | None]()
    asking = threading.Thread(target=lambda: found.append(_refusal(there, _PATIENCE)), daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    problem = found[0] if found else TimeoutError()
    if isinstance(problem, HfHubHTTPError):
        status = getattr(problem.response, "status_code", "no answer")
        return f"the hub does not give {there.repository} ({status})"
    return "" if problem is None else "the hub does not answer"


def open_name(source: str, say: Say) -> Bundle:
    """The checkpoint of that name as a bundle."""
    there = place(source)
    settled = _COMMIT.fullmatch(there.revision or "") is not None and _complete(there)
    alone = settled or _cut_off(there)
    config = _fetch(there, CONFIG, alone)
    if config is None:
        raise UserError(f"{source} has no {CONFIG}: it holds no model that is known here")
    _fetch(there, PROCESSOR, alone)
    for name in IN_FOLDER:
        if (found := _fetch(there, name, alone)) is not None:
            for shard in shard_names(found) if name == INDEX else ():
                _fetch(there, shard, alone)
            return open_foreign_folder(
                config.parent, source, say, labels=lambda count: _labels(there, count, alone, say)
            )
    if alone:
        raise _not_here(there)
    raise UserError(f"{source} holds no weights: there is none of {', '.join(IN_FOLDER)}")


def _labels(there: Place, count: int, alone: bool, say: Say) -> tuple[str, ...]:
    """Names for the thousand classes of ImageNet, which timm's files leave out; none where they cannot be had.

    Other people's thousand classes may be others, and so it is said.
    """
    if count != 1000:
        return ()
    try:
        found = _fetch(Place(_LABELS[0], None), _LABELS[1], alone, kind="dataset")
    except UserError:
        return ()
    named = read_json(found, "list of classes", "download it again") if found else None
    if not isinstance(named, dict) or set(named) != {str(i) for i in range(count)}:
        return ()
    if not there.repository.startswith("timm/"):
        say("the checkpoint does not name its 1000 classes: they are taken to be ImageNet's, in the usual order")
    return tuple(str(named[str(i)]) for i in range(count))


def _complete(there: Place) -> bool:
    """Whether the cache holds configuration and weights, all files of them."""
    weights = next((name for name in IN_FOLDER if _kept(there, name)), None)
    if weights is None or _kept(there, CONFIG) is None:
        return False
    index = _kept(there, INDEX) if weights == INDEX else None
    return all(_kept(there, shard) for shard in shard_names(index)) if index else True


def _kept(there: Place, name: str) -> Path | None:
    """A file in the cache."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(there.repository, name, revision=there.revision)
    return Path(found) if isinstance(found, str) else None


def _cut_off(there: Place) -> bool:
    """Whether only the cache is left, since the hub gives nothing; its refusal, where the cache has nothing either."""
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    problem = _refusal(there, constants.HF_HUB_ETAG_TIMEOUT)
    if isinstance(problem, HfHubHTTPError) and _kept(there, CONFIG) is None:
        with _telling(there):
            raise problem
    return problem is not None


def _refusal(there: Place, seconds: float) -> Exception | None:
    """What comes of asking once for the configuration; None where the hub has answered that it is there, or is not."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError

    try:
        get_hf_file_metadata(hf_hub_url(there.repository, CONFIG, revision=there.revision), timeout=seconds)
    except EntryNotFoundError:
        return None
    except Exception as error:  # of a network: these belong to a library that huggingface-hub may change
        return error
    return None


def _fetch(there: Place, name: str, alone: bool, kind: str = "model") -> Path | None:
    """One file, from the cache or the hub, or from the cache alone; None where there is no such file."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _telling(there):
        try:
            return Path(
                hf_hub_download(there.repository, name, revision=there.revision, repo_type=kind, local_files_only=alone)
            )
        except LocalEntryNotFoundError:
            if alone and name != CONFIG:
                return None
            raise
        except EntryNotFoundError:
            return None


def _not_here(there: Place) -> UserError:
    return UserError(
        f"{there.repository} is not in the cache and the hub cannot be asked (offline, or HF_HUB_OFFLINE is set); "
        "try again with a connection, or give a file or folder"
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
        raise _not_here(there) from None
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no answer")
        raise UserError(f"the hub refused {name} ({status}); try again later") from None
    except errors.HFValidationError:
        raise UserError(f"{name!r} is no name that the hub could have") from None
    except OSError as error:
        raise UserError(f"cannot fetch {name}: {error.strerror or type(error).__name__}; try again later") from None
    finally:
        logging.set_verbosity(before)
