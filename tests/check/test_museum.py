"""Every exhibit of the museum is found, and nothing else is accused."""

import json
from pathlib import Path

import pytest

from tests.check import museum
from tests.check.museum import Exhibit
from vitlab.commands.check import check
from vitlab.data.checks.finding import KINDS
from vitlab.data.checks.outcome import Checked
from vitlab.data.decode import decode
from vitlab.data.listing import SUFFIXES
from vitlab.data.quarantine import read_quarantine, without
from vitlab.data.sources.folder import folder
from vitlab.errors import UserError

Opened = tuple[Path, list[Exhibit], Checked]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    place = tmp_path_factory.mktemp("check") / "museum"
    place.mkdir()
    exhibits = museum.build(place)
    return place, exhibits, check(str(place))


def _names() -> list[Exhibit]:
    """The exhibits, to name a test for each: they are the same wherever the museum is built."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "museum").mkdir()
        return museum.build(Path(place) / "museum")


@pytest.mark.parametrize("exhibit", _names(), ids=lambda exhibit: ascii(f"{exhibit.kind}:{exhibit.key}"))
def test_an_exhibit_is_found(exhibit: Exhibit, opened: Opened) -> None:
    found = {(one.kind, one.key, one.other) for one in opened[2].findings}
    assert (exhibit.kind, exhibit.key, exhibit.other) in found


def test_nothing_else_is_accused(opened: Opened) -> None:
    _, exhibits, found = opened
    accused = [(one.kind, one.key, one.other) for one in found.findings]
    assert sorted(accused, key=repr) == sorted(((e.kind, e.key, e.other) for e in exhibits), key=repr)


def test_the_museum_is_large(opened: Opened) -> None:
    _, exhibits, _ = opened
    assert len({exhibit.key for exhibit in exhibits}) >= 80
    shown = {exhibit.kind for exhibit in exhibits}
    # What no folder that can be trained on shows, or nobody who is root: the tests of layouts and shards have those.
    assert set(KINDS) - shown == {"refused", "unreadable", "split-as-class", "to-know"}


def test_what_cannot_be_decoded_is_what_training_leaves_out(opened: Opened) -> None:
    """The list to leave out has every file that `decode` refuses, and of the others copies alone."""
    place, _, found = opened
    source = folder(place)
    refused = set()
    for samples in source.splits.values():
        for key in samples.keys:
            if (place / key).is_fifo():
                refused.add(key)
                continue
            try:
                decode(place / key)
            except UserError:
                refused.add(key)
    copies = {one.key for one in found.findings if one.kind == "leak"}
    assert set(found.leave_out) == refused | copies


def test_leaving_out_heals(opened: Opened, tmp_path: Path) -> None:
    place, _, found = opened
    check(str(place), quarantine=tmp_path / "bad.txt")
    keys = read_quarantine(tmp_path / "bad.txt")
    assert sorted(keys) == found.leave_out
    source = without(folder(place), keys)
    for samples in source.splits.values():
        assert not keys & set(samples.keys)
        for i in range(len(samples)):
            samples.read(i)
    whole = folder(place)
    assert sum(map(len, whole.splits.values())) - sum(map(len, source.splits.values())) == len(keys)


def test_counts(opened: Opened) -> None:
    place, _, found = opened
    files = [path for path in place.rglob("*") if path.is_symlink() or not path.is_dir()]
    assert found.files == sum(not _below_what_is_passed(path, place) for path in files)
    parsed = json.loads(found.to_json())
    assert parsed["errors"] + parsed["warnings"] + parsed["notes"] == len(found.findings) == len(parsed["findings"])
    assert sum(parsed["counts"].values()) == len(found.findings)
    assert parsed["pictures"] == sum(parsed["splits"].values())


def _below_what_is_passed(path: Path, place: Path) -> bool:
    """Hidden folders and those beside the splits are named and not entered; a link to a folder inside is no file."""
    parts = path.relative_to(place).parts
    return parts[0] == "extra" or ".ipynb_checkpoints" in parts or path.name == "young"


def test_sound_data_are_not_accused(tmp_path: Path) -> None:
    museum.sound(tmp_path)
    found = check(str(tmp_path))
    assert list(found.findings) == []
    assert found.files == found.pictures == 3 * sum(museum.SOUND.values())
    assert found.leave_out == []
    assert "Nothing was found" in str(found)


def test_the_same_findings_each_time(opened: Opened) -> None:
    place, _, found = opened
    assert check(str(place)).to_json() == found.to_json()


def test_every_suffix_has_its_formats() -> None:
    from vitlab.data.checks import signature

    assert {suffix for fitting in signature.SUFFIXES.values() for suffix in fitting} == SUFFIXES
