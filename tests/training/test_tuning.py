"""Fine-tuning: rates layer by layer, layers that stay as they are, the head first, weights that a run begins with."""

import pytest
import torch

from tests.training.test_resume import broken_off
from vitlab.bundle import Bundle, Card
from vitlab.data.origin import Origin
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.registry import blueprint
from vitlab.training import start
from vitlab.training.fit import fit
from vitlab.training.learner import Learner
from vitlab.training.objectives.supervised import Supervised
from vitlab.training.plan import Plan
from vitlab.training.recipe import RECIPES, Recipe, recipe
from vitlab.training.resolve import Request, replay, resolve

VIT = blueprint("vit_few_patch2_8").change(width=16, depth=4, block__attention__heads=2)
RESNET = blueprint("resnet18_cifar_32").change(image=8, channels=1, width=8, depths=[1, 1, 1, 1])
DIGITS = tuple("0123456789")


def saved(path, described, classes=DIGITS, seed=3):
    """A model with first values, as a bundle."""
    torch.manual_seed(seed)
    described = described.change(classes=len(classes))
    preprocess = Preprocess(size=(8, 8), channels=described.channels, mean=(0.3,), std=(0.4,))
    found = Bundle(described.build().eval(), Card(blueprint=described, preprocess=preprocess, classes=classes))
    found.save(path)
    return found


def request(path, **changes):
    asked = {"epochs": 1, "batch": 64, "ema": None, **changes}
    return Request(
        Origin("digits"), start=str(path), recipe_changes=asked, device="cpu", precision="float32", threads=1
    )


def rates_of(model, recipe, steps=100):
    """The rate of each parameter by name at the top of the schedule."""
    learner = Learner(model, Supervised(0.0), recipe, steps)
    chosen = learner.configure_optimizers()["optimizer"]
    found = {id(p): group["initial_lr"] for group in chosen.param_groups for p in group["params"]}
    return {name: found[id(parameter)] for name, parameter in model.named_parameters() if id(parameter) in found}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_recipe_that_fine_tunes_has_the_usual_rates(optimizer):
    found = rates_of(VIT.build(), recipe("finetune", {"optimizer": optimizer}))
    hidden = RECIPES["finetune"].rate if optimizer == "adamw" else 0.02
    expected = {"patch": 1e-5, "prefix": 1e-5, "position": 1e-5, "norm": 1e-4, "head": 1e-3}
    assert len(found) == len(list(VIT.build().parameters()))
    for name, rate in found.items():
        if not name.startswith("blocks."):
            assert rate == pytest.approx(expected[name.split(".")[0]]), name
        else:
            factor = 0.1 if int(name.split(".")[1]) >= 2 else 0.01
            matrix = name.endswith("weight") and "norm" not in name
            assert rate == pytest.approx(factor * (hidden if matrix else 1e-3)), name


def test_layer_by_layer_is_as_beit_counts():
    """Layer 0 is the stem, i + 1 block i, depth + 1 all after it: rate * decay^(depth + 1 - layer)."""
    found = rates_of(VIT.build(), Recipe(rate=1.0, rates={"kind": "layers", "decay": 0.5}))
    for name, rate in found.items():
        part, _, rest = name.partition(".")
        layer = {"patch": 0, "prefix": 0, "position": 0, "norm": 5, "head": 5}.get(part)
        layer = 1 + int(rest.split(".")[0]) if layer is None else layer
        assert rate == 0.5 ** (5 - layer), name


def test_even_rates_make_the_groups_there_always_were():
    learner = Learner(VIT.build(), Supervised(0.0), Recipe(), 10)
    assert len(learner.configure_optimizers()["optimizer"].param_groups) in (2, 4)  # matrices, vectors; head or not


def test_the_rest_waits_while_the_head_learns_alone_and_then_warms_up():
    model = VIT.build()
    settings = Recipe(rate=1.0, head_first=0.4, warmup=2, last_rate=0.0)
    configured = Learner(model, Supervised(0.0), settings, 10).configure_optimizers()
    head, seen = {id(p) for p in model.head.parameters()}, {"head": [], "rest": []}
    for _ in range(10):
        for group in configured["optimizer"].param_groups:
            kind = "head" if id(group["params"][0]) in head else "rest"
            assert all((id(p) in head) == (kind == "head") for p in group["params"])
            seen[kind].append(group["lr"])
        configured["optimizer"].step()
        configured["lr_scheduler"]["scheduler"].step()
    head_rates, rest = seen["head"][::2], seen["rest"][::2]  # matrices and vectors alike
    assert head_rates[:3] == [0.5, 1.0, 1.0]
    assert rest[:7] == [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0]
    assert rest[7] < 1.0


@pytest.mark.parametrize("described", [VIT, RESNET], ids=["vit", "resnet"])
@pytest.mark.parametrize("count", [2, "all"])
def test_frozen_weights_do_not_move_by_a_bit_and_the_others_do(described, count, tmp_path):
    begun = saved(tmp_path / "begun", described)
    ready = resolve(request(tmp_path / "begun", freeze=count, ema=0.9, rates="even"))
    tuned = fit(ready.plan, ready.splits, tmp_path, quiet=True)
    layers = tuned.layers
    still = [*layers.stem, *layers.blocks[: None if count == "all" else count]]
    still += layers.last if count == "all" else ()
    frozen = {id(tensor) for module in still for tensor in (*module.parameters(), *module.buffers())}
    before = begun.model.state_dict()
    moved = {True: [], False: []}
    for name, tensor in tuned.state_dict(keep_vars=True).items():
        if tensor.is_floating_point():
            moved[id(tensor) in frozen].append(not torch.equal(tensor, before[name]))
    assert moved[True]
    assert not any(moved[True])
    assert all(moved[False])


def test_more_blocks_than_there_are_cannot_be_frozen(tmp_path):
    saved(tmp_path / "begun", VIT)
    with pytest.raises(UserError, match="has 4 blocks, fewer than the 5"):
        resolve(request(tmp_path / "begun", freeze=5))


def test_rows_of_the_head_go_with_the_names_of_the_classes(tmp_path):
    known = saved(tmp_path / "begun", VIT, classes=("nine", "3", "0"))
    said = []
    for classes in (("0", "1", "3"), ("0", "1", "2", "3")):  # as many as before, and another number
        made = start.fitted(known, classes, (8, 8), 1, said.append)
        for i, j in ((classes.index("0"), 2), (classes.index("3"), 1)):
            assert torch.equal(made.model.head.weight[i], known.model.head.weight[j])
            assert made.model.head.bias[i] == known.model.head.bias[j]
        assert not torch.equal(made.model.head.weight[1], known.model.head.weight[1])
        assert torch.equal(made.model.patch.proj.weight, known.model.patch.proj.weight)
    assert said[-1] == "classes: 3 to 4, head 2 rows kept by their names, 2 new"


def test_a_run_that_begins_with_a_model_repeats_bit_for_bit_and_knows_it_again(tmp_path):
    saved(tmp_path / "begun", VIT, classes=DIGITS[:5])
    ready = resolve(request(tmp_path / "begun"))
    assert ready.plan.preprocess.mean == (0.3,)  # the model's own, not that of these images
    assert "begins with the weights of" in ready.plan.reasons["model"]
    assert "head 5 rows kept by their names, 5 new" in ready.plan.reasons["model"]
    assert "not mirrored" in ready.plan.reasons["recipe"]
    (tmp_path / "config.yaml").write_text(ready.plan.to_yaml(), encoding="utf-8")
    again = replay(Plan.read(tmp_path / "config.yaml"), Origin("digits"))
    for name in "abc":
        (tmp_path / name).mkdir()
    one, two = (fit(each.plan, each.splits, tmp_path / name, quiet=True) for each, name in ((ready, "a"), (again, "b")))
    assert all(torch.equal(one.state_dict()[name], tensor) for name, tensor in two.state_dict().items())
    saved(tmp_path / "begun", VIT, classes=DIGITS[:5], seed=4)
    with pytest.raises(UserError, match="holds other weights than those this run was planned with"):
        fit(ready.plan, ready.splits, tmp_path / "c", quiet=True)


def test_a_model_that_knows_the_images_beats_a_fresh_one_at_once(tmp_path):
    import vitlab

    common = {"device": "cpu", "precision": "float32", "threads": 1, "quiet": True, "out": tmp_path / "first"}
    vitlab.train("digits", model=RESNET, epochs=4, **common)
    common["out"] = tmp_path / "tuned"
    tuned = vitlab.train("digits", from_=tmp_path / "first", freeze="all", epochs=1, **common)
    fresh = vitlab.train("digits", model=RESNET, epochs=1, **{**common, "out": tmp_path / "fresh"})
    assert tuned.evaluation.accuracy > fresh.evaluation.accuracy + 0.2
    assert f"--from {tmp_path / 'first'} --freeze all" in tuned.bundle.card.command


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"from_": "nowhere"}, "no weights at nowhere"),
        ({"teacher": "nowhere"}, "no weights at nowhere"),
        ({"from_": "x", "model": "resnet18"}, "the model is that of --from"),
        ({"temperature": 2.0}, "--temperature is for a teacher's answers"),
        ({"freeze": "some"}, "--freeze wants a number of blocks, or all, not 'some'"),
        ({"freeze": -1}, "--freeze wants a number of blocks, or all, not -1"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(arguments, complaint):
    import vitlab

    with pytest.raises(UserError, match=complaint):
        vitlab.train("digits", **arguments)


def test_a_run_that_begins_with_a_model_is_gone_on_with(tmp_path, monkeypatch):
    import vitlab

    saved(tmp_path / "begun", VIT)
    with monkeypatch.context() as patch:
        broken_off(patch, 9)
        with pytest.raises(RuntimeError, match="the power is gone"):
            vitlab.train(
                "digits", from_=tmp_path / "begun", epochs=1, batch=64, out=tmp_path / "broken", quiet=True,
                device="cpu", precision="float32", threads=1, checkpoint_steps=3,
            )  # fmt: skip
    with pytest.raises(UserError, match="planned with another --from than elsewhere"):
        vitlab.train(resume=tmp_path / "broken", from_="elsewhere")
    went_on = vitlab.train(resume=tmp_path / "broken", from_=tmp_path / "begun", quiet=True)
    plan = Plan.read(tmp_path / "broken" / "config.yaml")
    (tmp_path / "whole").mkdir()
    whole = fit(plan, replay(plan, Origin("digits")).splits, tmp_path / "whole", quiet=True).state_dict()
    assert all(torch.equal(whole[name], tensor) for name, tensor in went_on.bundle.model.state_dict().items())
