"""Short files, each named for what it holds."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vitlab"
FILES = sorted(SOURCE.rglob("*.py"))
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_there_are_files_to_look_at() -> None:
    assert len(FILES) > 50
    assert len(TEXTS) >= 2


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_a_file_is_short_and_named_for_one_thing(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400
    assert file.stem not in {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_a_file_begins_with_what_it_is_for(file: Path) -> None:
    assert file.read_text(encoding="utf-8").startswith('"""')


@pytest.mark.parametrize("file", TEXTS, ids=_name)
def test_texts_name_no_place_of_one_machine(file: Path) -> None:
    found = re.findall(
        r"(?<![\w.:/])(?:/work/|/home/|/root/|/Users/|/tmp/|[A-Z]:\\)\S*", file.read_text(encoding="utf-8")
    )
    assert found == []


def test_nothing_that_was_made_is_kept() -> None:
    """Runs, caches and leftovers of writing do not belong in the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git here")
    made = (".partial", ".ckpt", ".pyc", ".egg-info")
    assert not [path for path in listed.stdout.splitlines() if path.startswith("runs/") or path.endswith(made)]
