"""Pictures inside tables, as `datasets` writes them, and the pixels and labels that went into them."""

import io
import json

import numpy as np
from PIL import Image

from tests.data_sources.made import numbers

NAMES = ["dog", "cat", "bird"]  # an order of their own, that sorting would lose


def png(seed, size=(6, 5)):
    held = io.BytesIO()
    Image.fromarray(numbers(seed, size[1], size[0], 3)).save(held, "PNG")
    return held.getvalue()


def features(names=NAMES, picture="image", label="label", **more):
    """The schema's metadata."""
    kinds = {picture: {"_type": "Image"}, label: {"names": names, "_type": "ClassLabel"}, **more}
    return {"huggingface": json.dumps({"info": {"features": kinds}})}


def pictures(count, first=0):
    return [{"bytes": png(first + i), "path": f"{first + i}.png"} for i in range(count)]


def table(cells, labels, metadata=None, picture="image", label="label"):
    import pyarrow as pa

    held = pa.table({picture: cells, label: labels})
    return held.replace_schema_metadata(metadata)


def write(path, count, first=0, labels=None, metadata=None, group=4, **how):
    """A Parquet file of `count` pictures in row groups of four."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    labels = [i % 3 for i in range(count)] if labels is None else labels
    held = table(pictures(count, first), labels, features() if metadata is None else metadata, **how)
    pq.write_table(held, path, row_group_size=group)
    return path


def pixels(seed):
    return np.asarray(Image.open(io.BytesIO(png(seed))))
