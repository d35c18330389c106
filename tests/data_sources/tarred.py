"""WebDataset shards, written by the library's own writer, and what is in them."""

import io
import json
import tarfile

from tests.data_sources.packed import png


def write_shard(path, count, first=0, classes=3, **more):
    """Samples with a number in `.cls`, by webdataset's writer; `more` are other files of each."""
    import webdataset

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as handle, webdataset.TarWriter(handle, encoder=False, mtime=0) as writer:
        for i in range(first, first + count):
            writer.write({"__key__": f"{i:06d}", "png": png(i), "cls": str(i % classes).encode(), **more})
    return path


def write_files(path, files, form=tarfile.GNU_FORMAT):
    """A tar file of these names and bytes, in this order; None makes a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tar(files, form))
    return path


def tar(files, form=tarfile.GNU_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as held:
        for name, content in files.items() if isinstance(files, dict) else files:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type = tarfile.DIRTYPE
            member.size = len(content or b"")
            held.addfile(member, io.BytesIO(content or b""))
    return out.getvalue()


def about(**entries):
    return json.dumps(entries).encode()
