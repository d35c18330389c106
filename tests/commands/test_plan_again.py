"""`--plan`: another run's decisions taken over, to the last bit, and nothing asked for beside it lost in silence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.commands.conftest import Said
from vitlab.commands.run import Run

Refused = Callable[..., str]


def test_a_plan_repeats_a_run_to_the_last_bit(here: Path, say: Callable[..., Said], trained: Run) -> None:
    said = say("train", "digits", "--plan", trained.folder / "config.yaml", "--quiet", "--out", "again")
    assert (said.code, said.err) == (0, "")
    for file in ("config.yaml", "bundle/model.safetensors", "evaluation.json"):
        assert (here / "again" / file).read_bytes() == (trained.folder / file).read_bytes(), file
    cards = [json.loads((folder / "bundle" / "model.json").read_text()) for folder in (here / "again", trained.folder)]
    assert {name for name in cards[0] if cards[0][name] != cards[1][name]} <= {"created"}


def test_what_is_asked_for_beside_a_plan_has_to_be_in_it(refused: Refused, trained: Run) -> None:
    plan = trained.folder / "config.yaml"
    assert refused("train", "digits", "--plan", plan, "--epochs", "3") == (
        f"{plan} was planned with --epochs 1, not 3; leave out what differs, or start another run with it"
    )
    assert refused("train", "digits", "--plan", plan, "--model", "vit_mnist_patch7_28") == (
        f"{plan} was planned with another --model than vit_mnist_patch7_28; "
        "leave out what differs, or start another run with it"
    )


def test_a_plan_of_another_torch_says_so(
    here: Path, say: Callable[..., Said], trained: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = yaml.safe_load((trained.folder / "config.yaml").read_text())
    plan["machine"]["versions"]["torch"] = "2.0.0"
    (here / "old.yaml").write_text(yaml.safe_dump(plan))
    monkeypatch.setattr("vitlab.commands.follow._carry_out", lambda *_: None)
    assert "planned with torch 2.0.0, trained with" in say("train", "digits", "--plan", "old.yaml", "--out", "new").err
