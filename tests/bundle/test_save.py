"""What is saved comes back to the last bit, and nothing is ever half-saved."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import vitlab
from vitlab.bundle import Bundle

Made = Callable[..., Bundle]


def _same(one: Bundle, other: Bundle) -> bool:
    mine, theirs = one.model.state_dict(), other.model.state_dict()
    return (
        one.card == other.card
        and mine.keys() == theirs.keys()
        and all(torch.equal(mine[name], theirs[name]) for name in mine)
    )


def test_a_round_trip_is_exact(made: Made, tmp_path: Path) -> None:
    bundle = made(
        metrics={"test_accuracy": 0.1 + 0.2}, data={"source": "a b", "train": 3}, command="vitlab train 'a b'"
    )
    bundle.save(tmp_path / "bundle")
    back = vitlab.load(tmp_path / "bundle")
    assert _same(back, bundle)
    assert not back.model.training
    images = torch.randint(0, 256, (3, 3, 8, 12), dtype=torch.uint8)
    assert torch.equal(back.probabilities(images), bundle.probabilities(images))
    assert {path.name for path in (tmp_path / "bundle").iterdir()} == {"model.json", "model.safetensors"}


def test_a_run_and_its_bundle_are_the_same_to_load(saved: Path) -> None:
    assert _same(vitlab.load(saved), vitlab.load(saved.parent))
    assert _same(vitlab.load(str(saved)), vitlab.load(saved))


def test_loading_costs_no_random_number(saved: Path) -> None:
    before = torch.get_rng_state()
    vitlab.load(saved)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_fresh_process_knows_the_blueprint(saved: Path) -> None:
    """Nobody has named a model there before: the kinds of every family must be known by loading alone."""
    code = "import sys, vitlab; print(*vitlab.load(sys.argv[1]).classes, sep='|')"
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout == "zebra|ant|owl|élan|old cat\n"


def test_a_newer_one_takes_the_place_of_the_old(made: Made, saved: Path) -> None:
    newer = made(command="again")
    newer.save(saved)
    assert _same(vitlab.load(saved), newer)
    assert [path.name for path in saved.parent.iterdir()] == ["bundle"]


def _fails_at(monkeypatch: pytest.MonkeyPatch, call: int, error: BaseException) -> None:
    """The `call`th rename of a folder fails."""
    done = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def rename(self: Path, target: Path) -> Any:
            nonlocal done
            done += 1
            if done == call:
                raise error
            return real(self, target)

        return rename

    monkeypatch.setattr(Path, "replace", counted(Path.replace))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()], ids=["disk", "key"])
def test_the_old_one_stays_when_the_new_one_cannot_come(
    made: Made, saved: Path, monkeypatch: pytest.MonkeyPatch, call: int, error: BaseException
) -> None:
    old = vitlab.load(saved)
    with monkeypatch.context() as patched:
        _fails_at(patched, call, error)
        with pytest.raises((vitlab.UserError, KeyboardInterrupt)):
            made(command="new").save(saved)
    assert _same(vitlab.load(saved), old)
    assert [path.name for path in saved.parent.iterdir()] == ["bundle"]


def test_nothing_is_left_of_a_first_one_that_failed(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails_at(monkeypatch, 1, OSError(errno.EIO, "Input/output error"))
    with pytest.raises(vitlab.UserError, match=r"cannot write .*/new: Input/output error; choose another folder"):
        made().save(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="as POSIX folders behave")
def test_a_folder_that_is_not_there(made: Made, tmp_path: Path) -> None:
    with pytest.raises(vitlab.UserError, match=r"^cannot write .*/no/where: no folder can be made there; choose"):
        made().save(tmp_path / "no" / "where")
    assert list(tmp_path.iterdir()) == []
