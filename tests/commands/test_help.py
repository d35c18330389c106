"""Help and refusals import nothing heavy, which is why they come at once."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Said
from vitlab import cli

HEAVY = ("torch", "numpy", "PIL", "sklearn", "lightning")

_PROBE = """
import contextlib, io, json, sys
from vitlab.cli import main
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
            code = 0
        except SystemExit as end:
            code = end.code or 0
    heavy = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    print(json.dumps({"words": words, "code": code, "out": out.getvalue(), "err": err.getvalue(), "heavy": heavy}))
"""


def _ended(commands: list[list[str]], folder: Path) -> list[dict[str, object]]:
    """One fresh Python for all of them: what the first imports would be seen after the last."""
    words = [sys.executable, "-c", _PROBE, json.dumps(commands), json.dumps(HEAVY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    commands = [["--help"], ["-h"], ["help"], [], *([name, "--help"] for name in cli.COMMANDS)]
    for ended in _ended(commands, tmp_path):
        assert ended["heavy"] == [], ended["words"]
        assert ended["code"] == 0, ended["words"]
        assert ended["err"] == ""
        assert "vitlab" in str(ended["out"])


def test_refusals_import_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    commands = [
        ["trian"],
        *([name, "--no-such-flag"] for name in cli.COMMANDS),
        *([name] for name in cli.COMMANDS if name != "models"),
        ["train", "nope"],
        ["train", "empty"],
        ["train", "file"],
        ["train", "digits", "--rate", "banana"],
        ["train", "digits", "--rate", "nan"],
        ["train", "digits", "--epochs", "1.5"],
        ["train", "digits", "--epochs", "-1"],
        ["train", "digits", "--size", "0"],
        ["train", "digits", "--recipe", "nope"],
        ["train", "digits", "--change", "nope"],
        ["train", "digits", "--device", "tpu"],
        ["train", "digits", "--plan", "nope"],
        ["train", "digits", "--out", "file"],
        ["train", "digits", "--from", "nope"],
        ["train", "digits", "--teacher", "nope"],
        ["train", "digits", "--lora", "4"],
        ["evaluate", "nope"],
        ["evaluate", "empty"],
        ["evaluate", "empty", "--split", "all"],
        ["predict", "nope", "a.png"],
        ["predict", "empty", "a.png"],
        ["explain", "nope"],
        ["explain", "empty"],
        ["explain", "empty", "a.png"],
        ["convert", "nope", "made", "--classes", "-1"],
        ["convert", "nope", "empty"],
        ["convert", "nope", "made"],
        ["convert", "empty", "made", "--model", "vit_tiny_patch16_224"],
        ["convert", "timm:x", "made", "--model", "vit_tiny_patch16_224"],
        ["report", "nope"],
        ["report", "empty"],
        ["profile", "vit_cifar_patch8_32", "--batch", "0"],
    ]
    found = _ended(commands, tmp_path)
    assert len(found) == len(commands)
    for ended in found:
        assert ended["heavy"] == [], ended["words"]
        assert ended["code"] == 2, ended["words"]
        assert str(ended["err"]).startswith("vitlab: ")
        assert ended["out"] == ""


def test_the_overview_names_each_command_with_its_purpose(say: Callable[..., Said]) -> None:
    said = say("--help")
    for name in cli.COMMANDS:
        summary = (getattr(__import__("importlib").import_module(f"vitlab.commands.{name}"), name).__doc__ or "").split(
            "\n"
        )[0]
        assert f"  {name:<10} {summary}\n" in said.out
    assert max(map(len, said.out.splitlines())) <= 120


def test_the_version(say: Callable[..., Said]) -> None:
    import vitlab

    assert say("--version") == (0, f"{vitlab.__version__}\n", "")


@pytest.mark.slow
def test_help_takes_at_most_three_times_the_parser_of_flags() -> None:
    def best(words: list[str]) -> float:
        taken = []
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run(words, check=True, capture_output=True)
            taken.append(time.perf_counter() - start)
        return min(taken)

    parser = best([sys.executable, "-c", "import tyro"])
    ours = best([sys.executable, "-c", "from vitlab.cli import main; main(['--help'])"])
    assert ours <= 3 * parser, f"{ours:.3f} s against {parser:.3f} s"
