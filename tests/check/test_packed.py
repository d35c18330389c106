"""The museum's pictures inside other files: `check` finds in shards and Parquet what it finds in a folder."""

import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import vitlab
from tests.check import museum
from tests.check.test_train import SMALLEST
from vitlab.data.checks.outcome import Checked
from vitlab.data.listing import SUFFIXES
from vitlab.data.quarantine import read_quarantine

# What a picture is, whatever it lies in: not where it lies, nor what it is called.
KINDS = {
    *("truncated", "broken", "empty", "not-an-image", "unsupported", "pixels", "huge", "leak", "label-conflict"),
    *("near-leak", "near-conflict", "duplicate", "near-duplicate", "one-image", "class-case", "imbalance", "damaged"),
    *(
        "uniform",
        "tiny",
        "elongated",
        "wrong-suffix",
        "rotated",
        "cmyk",
        "16-bit",
        "palette",
        "alpha",
        "1-bit",
        "frames",
    ),
}
Named = Callable[[str], str]


def _files(place: Path) -> list[Path]:
    """Images of a class that are files of their own: SPLIT/CLASS/NAME."""
    every = (path for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink())
    return [
        path for path in every
        if len(path.relative_to(place).parts) == 3 and path.suffix.lower() in SUFFIXES
        and path.parts[-3] in museum.SOUND and not path.name.startswith(".")
    ]  # fmt: skip


def _as_shards(files: list[Path], place: Path, out: Path) -> Named:
    """One shard a split; a name keeps its suffix before the dot too, since `cut.jpg` and `cut.png` are two samples."""

    def key(name: str) -> str:
        return re.sub(r"\.(\w+)$", r"-\1", name).replace(".", "-")

    for split in museum.SOUND:
        with tarfile.open(out / f"{split}.tar", "w") as tar:
            for path in files:
                if path.parts[-3] == split:
                    inner = key(f"{path.parts[-2]}/{path.name}")
                    for suffix, content in ((path.suffix, path.read_bytes()), (".cls", path.parts[-2].encode())):
                        member = tarfile.TarInfo(inner + suffix)
                        member.size = len(content)
                        tar.addfile(member, io.BytesIO(content))
    return lambda name: key(name) if Path(name).suffix else name


def _as_parquet(files: list[Path], place: Path, out: Path) -> Named:
    """A file for each split, in the order of the names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = {}
    for split in museum.SOUND:
        mine = [path for path in files if path.parts[-3] == split]
        cells = [{"bytes": path.read_bytes(), "path": ascii(path.name)[1:-1]} for path in mine]
        pq.write_table(pa.table({"image": cells, "label": [path.parts[-2] for path in mine]}), out / f"{split}.parquet")
        numbers |= {path.relative_to(place).as_posix(): f"{split}/{i:06d}" for i, path in enumerate(mine)}
    return lambda name: numbers.get(name, name)


def _found(checked: Checked) -> set[tuple[str, str, str | None]]:
    return {(one.kind, one.key, one.other) for one in checked.findings if one.kind in KINDS}


@pytest.mark.parametrize("pack", [_as_shards, _as_parquet])
def test_the_same_is_found_and_survived(
    pack: Callable[[list[Path], Path, Path], Named],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pyarrow", reason="Parquet wants pyarrow: pip install 'vitlab[hub]'")
    monkeypatch.setenv("VITLAB_CACHE", str(tmp_path / "cache"))
    place, out = tmp_path / "museum", tmp_path / "packed"
    place.mkdir()
    out.mkdir()
    exhibits = museum.build(place)
    files = _files(place)
    # In the museum names that hold a line break or a slash's look-alike are exhibits of names, not of pictures.
    named = pack(files, place, out)
    there = {path.relative_to(place).as_posix() for path in files} | {
        f"train/{name}" for name in ("unicorn", "fish", "Fish")
    }
    wanted = {
        (one.kind, named(one.key), one.other and named(one.other))
        for one in exhibits
        if one.kind in KINDS and one.key in there and (one.other is None or one.other in there)
    }
    found = vitlab.check(str(out), quarantine=tmp_path / "bad.txt", page=tmp_path / "check.html")
    assert _found(found) == wanted
    assert {kind for kind, _, _ in wanted} == KINDS
    assert '<img src="data:image/' in (tmp_path / "check.html").read_text(encoding="utf-8")
    assert read_quarantine(tmp_path / "bad.txt") == frozenset(found.leave_out)
    vitlab.train(str(out), out=tmp_path / "run", **SMALLEST)
    bad = {one.key for one in found.findings if one.leave_out and one.kind != "leak"}
    said = re.findall(r"left out of (?:train|val|test): (\S+)", capsys.readouterr().err)
    assert {re.sub(r"\.\w+$", "", name) for name in said} == bad
    vitlab.train(str(out), out=tmp_path / "healed", quarantine=tmp_path / "bad.txt", **SMALLEST)
    assert "left out of" not in capsys.readouterr().err
