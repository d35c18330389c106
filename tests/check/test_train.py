"""`vitlab train` over the museum: every exhibit survived, each bad file named; and what a list says is left out."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import vitlab
from tests.check import museum
from tests.check.museum import picture, save
from vitlab.commands.check import check
from vitlab.errors import UserError

SMALLEST: dict[str, Any] = {
    "model": "vit_few_patch2_8", "change": ("depth=1", "width=12"), "size": 8, "epochs": 1, "batch": 32,
    "precision": "float32", "threads": 1, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "museum"
    folder.mkdir()
    museum.build(folder)
    return folder


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Two classes of thirty, with three broken files and a copy: four to leave out."""
    for n, name in enumerate(("cat", "dog")):
        for i in range(30):
            save(tmp_path / "pets" / name / f"{i}.png", picture(100 * n + i, (12, 10)))
    for i in (3, 7, 11):
        (tmp_path / "pets" / "cat" / f"{i}.png").write_bytes(b"")
    save(tmp_path / "pets" / "dog" / "again.png", picture(105, (12, 10)))
    return tmp_path / "pets"


def _named(err: str) -> list[str]:
    """The files that training said it leaves out."""
    return re.findall(r"left out of (?:train|val|test): (.*)", err)


def test_every_exhibit_is_survived(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file that cannot be decoded is named, once, and it alone; with them listed, nothing is left to say."""
    found = check(str(place), quarantine=tmp_path / "bad.txt")
    bad = {one.key for one in found.findings if one.leave_out and one.kind != "leak"}
    run = vitlab.train(str(place), out=tmp_path / "run", **SMALLEST)
    err = capsys.readouterr().err
    said = _named(err)
    assert len(said) == len(bad)
    assert err.rstrip().endswith(f"{len(bad)} images could not be used, as named above")
    for key in bad:
        assert sum(str(place / key) in line for line in said) == 1, key
    assert run.evaluation.images == found.splits["test"]
    vitlab.train(str(place), out=tmp_path / "healed", quarantine=tmp_path / "bad.txt", **SMALLEST)
    err = capsys.readouterr().err
    assert _named(err) == []
    assert f"({len(found.leave_out)} left out, as {tmp_path / 'bad.txt'} says)" in err


def test_the_list_goes_with_the_run(pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the plan, in a repetition by the plan, and in an evaluation: with another list, other images are held out."""
    listed = tmp_path / "bad.txt"
    check(str(pets), quarantine=listed)
    run = vitlab.train(str(pets), out=tmp_path / "run", quarantine=listed, quiet=True, **SMALLEST)
    plan = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
    assert plan["data"]["quarantine"]["file"] == str(listed)
    assert plan["data"]["quarantine"]["images"] == 4
    assert sum(plan["data"][split] for split in ("train", "val", "test")) == 61 - 4
    assert "left out" not in capsys.readouterr().err
    again = vitlab.train(str(pets), plan=tmp_path / "run" / "config.yaml", out=tmp_path / "again", quiet=True)
    assert again.evaluation == run.evaluation
    assert vitlab.evaluate(tmp_path / "run") == run.evaluation
    moved = listed.rename(tmp_path / "moved.txt")
    with pytest.raises(UserError, match=r"^the list that the training left out, .*bad.txt, is not here; say with"):
        vitlab.evaluate(tmp_path / "run")
    assert vitlab.evaluate(tmp_path / "run", quarantine=moved) == run.evaluation
    with moved.open("a") as file:
        file.write("cat/20.png\n")
    with pytest.raises(UserError, match="is not the list that the training left out; bring that one back"):
        vitlab.evaluate(tmp_path / "run", quarantine=moved)
    assert vitlab.evaluate(tmp_path / "run", str(pets), quarantine=moved).images > 0


def test_a_list_of_other_data_is_told(pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.txt").write_text("bird/1.png\n")
    vitlab.train(str(pets), out=tmp_path / "run", quarantine=tmp_path / "other.txt", **SMALLEST)
    assert f"(none left out, as {tmp_path / 'other.txt'} says)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"cannot read .*list: No such file or directory"),
        (b"\xff\n", "is not UTF-8 text; `vitlab check DATA --quarantine FILE` writes such a list"),
        (b'"half\n', "has a broken name in line 1"),
        (b"".join(b"cat/%d.png\n" % i for i in range(30)), "nothing is left of the class 'cat' of pets"),
    ],
)
def test_a_list_that_cannot_be_used(content: bytes | None, said: str, pets: Path, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "list").write_bytes(content)
    with pytest.raises(UserError, match=said):
        vitlab.train(str(pets), quarantine=tmp_path / "list", out=tmp_path / "run", quiet=True, **SMALLEST)
    assert not (tmp_path / "run").exists()
