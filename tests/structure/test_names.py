"""Public names, commands and what is said of them."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import vitlab
from vitlab import cli

COMMANDS = Path(vitlab.__file__).parent / "commands"


def _in_file() -> dict[str, str]:
    """Names imported for type checkers alone, with the modules they come from."""
    tree = ast.parse(Path(vitlab.__file__).read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: node.module or ""
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", vitlab.__all__)
def test_each_public_name_is_there(name: str) -> None:
    value = getattr(vitlab, name)
    assert not isinstance(value, ModuleType)
    assert name == "__version__" or value.__name__ == name
    assert name in dir(vitlab)


def test_type_checkers_see_the_same_names() -> None:
    assert _in_file() == vitlab._WHERE


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="vitlab has no 'trian'"):
        vitlab.trian  # type: ignore[attr-defined]  # noqa: B018


def test_importing_vitlab_costs_nothing() -> None:
    code = "import vitlab, sys; print([m for m in ('torch', 'numpy', 'pydantic', 'tyro') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_table_of_commands_is_the_folder_of_commands() -> None:
    """A verb's file defines a function of its own name."""
    verbs = {
        file.stem
        for file in COMMANDS.glob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == file.stem and file.stem not in {"spell", "run"}
    }
    assert set(cli.COMMANDS) == verbs
    assert len(cli.COMMANDS) == len(set(cli.COMMANDS))


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_parameter_of_a_command_is_described(name: str) -> None:
    function = getattr(importlib.import_module(f"vitlab.commands.{name}"), name)
    text = inspect.getdoc(function) or ""
    _, _, described = text.partition("Args:\n")
    found = re.findall(r"^    (\w+): \S", described, re.MULTILINE)
    assert found == list(inspect.signature(function).parameters)
    assert text.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_command_is_a_public_function(name: str) -> None:
    """`vitlab.models` is the registry's list of names; the command draws its table of them."""
    if name != "models":
        assert getattr(vitlab, name) is getattr(importlib.import_module(f"vitlab.commands.{name}"), name)
