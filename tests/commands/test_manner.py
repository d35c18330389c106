"""How a run is followed, told to another process in flags: it has to understand the same."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Said
from vitlab.commands.manner import Manner
from vitlab.commands.run import Run


@pytest.mark.parametrize(
    "manner",
    [
        Manner(),
        Manner(quiet=True, minutes=0.25),
        Manner(tensorboard=True, watch=True, steps=7),
        Manner(quiet=True, tensorboard=True, watch=True, minutes=1e-3, steps=1),
    ],
    ids=str,
)
def test_the_words_say_it_all(
    here: Path, trained: Run, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, manner: Manner
) -> None:
    understood = []

    def note(folder: Path, told: object, manner: Manner) -> Run:
        understood.append((folder, manner))
        return trained

    monkeypatch.setattr(importlib.import_module("vitlab.commands.train"), "go_on", note)
    assert say("train", "--resume", "run", *manner.words).code == 0
    assert understood == [(Path("run"), manner)]
