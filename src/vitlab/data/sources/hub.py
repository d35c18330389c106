"""Data sets of the Hugging Face hub, by `datasets`: fetched into its cache once, then mapped from there.

What is in the cache needs no network, and with $HF_HUB_OFFLINE none is asked. Repositories that want to run code of
their own are refused: `datasets` from version 4 on runs none, and nothing here asks it to.
"""

import sys
from pathlib import Path
from typing import Any

from vitlab.data.sources.cells import module, reason
from vitlab.data.sources.repository import Repository, check_repository
from vitlab.data.sources.saved import known_splits, of_tables
from vitlab.data.sources.source import Source
from vitlab.errors import UserError


def hub(data: str) -> Source:
    """The data set; its pictures may lie in the caches, or in the folder that was named."""
    wanted = check_repository(data)
    found, said = known_splits(_load(data, wanted))
    if wanted.folder is not None:
        said.insert(0, f"read from the folder {wanted.folder.resolve().name} that is here, not from the hub")
    # The features as they are now: the files' own description may be older.
    tables = {
        split: [held.data.table.replace_schema_metadata(held.features.arrow_schema.metadata)]
        for split, held in found.items()
    }
    name = wanted.folder.resolve().name if wanted.folder else wanted.name.rpartition("/")[2]
    return of_tables(name, tables, said, [folder.resolve() for folder in _folders(wanted)])


def _load(data: str, wanted: Repository) -> dict[str, Any]:
    """The splits by name."""
    datasets = module("datasets")
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        found = datasets.load_dataset(wanted.name if wanted.folder is None else str(wanted.folder), wanted.config)
    except datasets.exceptions.DatasetNotFoundError:
        raise UserError(
            f"{data} is not on the Hugging Face hub, or is private; mind the spelling, or log in with `hf auth login`"
        ) from None
    except ConnectionError as error:
        if datasets.config.HF_HUB_OFFLINE:
            raise UserError(
                f"{data} is not in the cache, and HF_HUB_OFFLINE keeps from fetching it; unset that"
            ) from None
        raise UserError(f"{data} is not in the cache, and the hub cannot be reached ({reason(error)})") from None
    except Exception as error:  # its own kinds, those of pyarrow, of the hub, and many of Python's
        if "script" in str(error) and isinstance(error, RuntimeError):
            raise UserError(
                f"{data} wants to run a script of its own, which is never done; take a copy in Parquet"
            ) from None
        raise UserError(f"{data} cannot be read by datasets ({reason(error)})") from None
    return dict(found)


def _folders(wanted: Repository) -> list[Path]:
    """Where pictures may lie that a table names by their paths."""
    if wanted.folder is not None:
        return [wanted.folder]
    constants = module("huggingface_hub.constants")
    return [Path(module("datasets").config.HF_DATASETS_CACHE), Path(constants.HF_HUB_CACHE)]
