"""Words that are no command, no flag or no value of it: refused before anything is read."""

from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trian digits", "no command 'trian'; did you mean 'train'?"),
        (
            "xyzzy",
            "no command 'xyzzy'; there are train, evaluate, predict, explain, check, convert, report, models, profile",
        ),
        ("train", "train wants DATA; `vitlab train --help` says what that is"),
        ("evaluate", "evaluate wants RUN; `vitlab evaluate --help` says what that is"),
        ("predict", "predict wants RUN; `vitlab predict --help` says what that is"),
        ("explain", "explain wants RUN; `vitlab explain --help` says what that is"),
        ("explain a --methods rollout", "explain has no flag --methods; did you mean --method?"),
        ("report", "report wants RUN; `vitlab report --help` says what that is"),
        ("profile", "profile wants MODEL; `vitlab profile --help` says what that is"),
        ("train digits --eopchs 3", "train has no flag --eopchs; did you mean --epochs?"),
        ("train --eopchs 3", "train has no flag --eopchs; did you mean --epochs?"),
        ("train digits --bach=3", "train has no flag --bach; did you mean --batch?"),
        ("train digits --xyzzy", "train has no flag --xyzzy; `vitlab train --help` lists them"),
        ("evaluate a --spilt test", "evaluate has no flag --spilt; did you mean --split?"),
        ("predict a b.png --tpo 3", "predict has no flag --tpo; did you mean --top?"),
        ("report a --top 3", "report has no flag --top; `vitlab report --help` lists them"),
        ("models --all", "models has no flag --all; `vitlab models --help` lists them"),
        ("profile a --latncy 1", "profile has no flag --latncy; did you mean --latency?"),
        ("train digits cifar", "train does not know what to do with 'cifar'; `vitlab train --help` says more"),
        ("models a b", "models does not know what to do with 'b'; `vitlab models --help` says more"),
        ("train digits --rate banana", "--rate wants a number, not 'banana'"),
        ("train digits --rate=banana", "--rate wants a number, not 'banana'"),
        ("train digits --epochs 1.5", "--epochs wants a whole number, not '1.5'"),
        ("train digits --epochs many", "--epochs wants a whole number, not 'many'"),
        ("train digits --weight_decay much", "--weight-decay wants a number, not 'much'"),
        ("train digits --seed x", "--seed wants a whole number, not 'x'"),
        ("train digits --epochs", "--epochs wants a whole number after it"),
        ("train digits --device tpu", "--device wants one of auto, cpu, cuda, mps, not 'tpu'"),
        ("evaluate a --split all", "--split wants one of test, val, train, not 'all'"),
    ],
)
def test_words_that_are_not_understood(refused: Refused, words: str, sentence: str) -> None:
    assert refused(*words.split()) == sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--batch 0", "--batch wants at least 1, not 0"),
        ("--epochs 0", "--epochs wants at least 1, not 0"),
        ("--epochs -1", "--epochs wants at least 1, not -1"),
        ("--rate nan", "--rate wants a finite number, not nan"),
        ("--rate inf", "--rate wants a finite number, not inf"),
        ("--rate -1", "--rate wants more than 0, not -1.0"),
        ("--rate 0", "--rate wants more than 0, not 0.0"),
        ("--weight-decay -0.5", "--weight-decay wants at least 0, not -0.5"),
        ("--smoothing 1", "--smoothing wants less than 1, not 1.0"),
        ("--dropout 1", "--dropout wants less than 1, not 1.0"),
        ("--drop-path -1", "--drop-path wants at least 0, not -1.0"),
        ("--ema 1", "--ema wants less than 1, not 1.0"),
        ("--ema -0.1", "--ema wants at least 0, not -0.1"),
        ("--patience 0", "--patience wants at least 1, not 0"),
        ("--warmup inf", "--warmup wants a finite number, not inf"),
        ("--rate 0 --batch 0", "--batch wants at least 1, not 0 (and 1 more)"),
        ("--size 0", "--size wants at least 1, not 0"),
        ("--accumulate 0", "--accumulate wants at least 1, not 0"),
        ("--threads -2", "--threads wants at least 1, not -2"),
        ("--seed -1", "--seed wants a whole number from 0 to 2147483647, not -1"),
        ("--recipe cifa", "no recipe 'cifa'; did you mean 'cifar'?"),
        ("--plan nope.yaml", "no plan at nope.yaml; give the config.yaml of a run"),
        ("--change pool", "--change wants PART=VALUE, such as pool=mean, not 'pool'"),
        ("--change =mean", "--change wants PART=VALUE, such as pool=mean, not '=mean'"),
        ("--change pool=", "--change wants PART=VALUE, such as pool=mean, not 'pool='"),
    ],
)
def test_figures_out_of_range_for_training(refused: Refused, words: str, sentence: str) -> None:
    assert refused("train", "digits", *words.split()) == sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--batch 0", "--batch wants at least 1, not 0"),
        ("--latency 0", "--latency wants at least 1, not 0"),
        ("--change pool", "--change wants PART=VALUE, such as pool=mean, not 'pool'"),
    ],
)
def test_figures_out_of_range_for_a_profile(refused: Refused, words: str, sentence: str) -> None:
    assert refused("profile", "vit_few_patch2_8", *words.split()) == sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("explain a --count 0", "--count wants at least 1, not 0"),
        ("explain a --split all", "--split wants one of test, val, train, not 'all'"),
        ("explain a --fidelity --model", "--fidelity and --model are two questions; ask them one after the other"),
        ("convert a b --size 0", "--size wants at least 1, not 0"),
        ("convert a b --patch x", "--patch wants a whole number, not 'x'"),
        ("convert a b --channels -3", "--channels wants at least 1, not -3"),
        ("convert a b --classes -1", "--classes wants at least 0, not -1"),
        ("convert a b --to onnx", "--to wants one of bundle, timm, transformers, not 'onnx'"),
        ("convert a", "convert wants TARGET; `vitlab convert --help` says what that is"),
    ],
)
def test_figures_out_of_range_for_looking_and_converting(
    here: Path, refused: Refused, words: str, sentence: str
) -> None:
    (here / "a").mkdir()
    (here / "a" / "model.json").write_text("{}\n")
    assert refused(*words.split()) == sentence


def test_debug_shows_where_a_mistake_was_noticed(here: object) -> None:
    from vitlab.cli import main
    from vitlab.errors import UserError

    with pytest.raises(UserError, match="--batch wants at least 1, not 0"):
        main(["train", "digits", "--batch", "0", "--debug"])
