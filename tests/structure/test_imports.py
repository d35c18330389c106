"""Which room may import what, by the contracts in pyproject and by reading every import there is."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vitlab"
FILES = sorted(SOURCE.rglob("*.py"))


def _name(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def _imported(file: Path) -> Iterator[str]:
    """Every module that a file imports, in functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_the_contracts_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Imports go down only KEPT" in done.stdout


def test_every_room_has_its_place_in_the_contract() -> None:
    """A room that the contract does not name would be free to import anything."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    rooms = {path.name if path.is_dir() else path.stem for path in SOURCE.iterdir() if path.name != "__pycache__"}
    rooms = {room for room in rooms if not room.startswith("__") and room != "py"}
    assert not [room for room in rooms if f"vitlab.{room}" not in text]


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_lightning_stays_where_it_is_at_home(file: Path) -> None:
    if not _name(file).startswith(("training/", "commands/")) and _name(file) != "data/module.py":
        assert not [module for module in _imported(file) if _is(module, "lightning")]


@pytest.mark.parametrize("file", sorted((SOURCE / "parts").glob("*.py")), ids=_name)
def test_parts_need_little(file: Path) -> None:
    allowed = ("torch", "pydantic", "jaxtyping", "vitlab.errors", "vitlab.parts")
    for module in _imported(file):
        known = module.split(".")[0] in sys.stdlib_module_names or any(_is(module, name) for name in allowed)
        assert known, f"{_name(file)} imports {module}"


@pytest.mark.parametrize(
    "room", ["errors.py", "files.py", "bundle_path.py", "data/listing.py", "data/sources/layout.py"]
)
def test_what_refuses_at_once_needs_nothing_but_python(room: str) -> None:
    tree = ast.parse((SOURCE / room).read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in top}
    light = ("vitlab.errors", "vitlab.files", "vitlab.data.listing")
    assert not [name for name in modules if name.split(".")[0] not in sys.stdlib_module_names and name not in light]
