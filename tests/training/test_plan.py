"""What a run decides by looking, and how it is written down."""

import pytest
import yaml

from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.training import auto, machine
from vitlab.training.optimizers.choice import Muon
from vitlab.training.plan import Plan
from vitlab.training.recipe import RECIPES, recipe
from vitlab.training.resolve import Request, resolve


@pytest.fixture(scope="module")
def plan():
    return resolve(
        Request(Origin("digits"), recipe_changes={"epochs": 3}, device="cpu", precision="float32", threads=1)
    ).plan


def test_a_plan_is_read_back_as_written(plan, tmp_path):
    (tmp_path / "config.yaml").write_text(plan.to_yaml(), encoding="utf-8")
    assert Plan.read(tmp_path / "config.yaml") == plan


def test_every_decision_has_its_reason(plan):
    assert {"model", "recipe", "ema", "accumulate", "device", "precision", "kernels", "compile", "peak_gflops"} <= set(
        plan.reasons
    )
    assert all(reason for reason in plan.reasons.values())


def test_digits_are_planned_as_small_grey_pictures(plan):
    assert plan.model == "vit_few_patch2_8"
    assert (plan.blueprint.image, plan.blueprint.channels, plan.blueprint.classes) == ((8, 8), 1, 10)
    assert (plan.data.train, plan.data.val, plan.data.test) == (1293, 144, 360)
    assert plan.preprocess.mean == pytest.approx((0.305,), abs=0.01)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", "no YAML"),
        ("- 1", "wants named entries"),
        ("seed: 0", "is missing"),
    ],
)
def test_a_file_that_is_no_plan_gets_one_sentence(tmp_path, text, complaint):
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=complaint):
        Plan.read(tmp_path / "config.yaml")


def test_a_plan_with_a_wrong_field_names_it(plan, tmp_path):
    data = yaml.safe_load(plan.to_yaml())
    data["recipe"]["epochz"] = 3
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(UserError, match=r"recipe\.epochz: no such field"):
        Plan.read(tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("side", "images", "name"),
    [
        (8, 1_300, "vit_few_patch2_8"),
        (20, 60_000, "vit_tiny_patch4_20"),
        (28, 60_000, "vit_compact_28"),
        (30, 60_000, "vit_compact_30"),
        (32, 300_000, "vit_small_patch4_32"),
        (64, 100_000, "vit_tiny_patch8_64"),
        (500, 2_000, "vit_few_patch16_224"),
        (500, 1_200_000, "vit_small_patch16_224"),
    ],
)
def test_auto_picks_by_size_and_number(side, images, name):
    chosen, reason = auto.model(side, images, classes=7, channels=3)
    assert (chosen.name, chosen.classes) == (name, 7)
    assert f"{images:,}" in reason


def test_the_size_asked_for_is_the_size():
    chosen, reason = auto.model(500, 2_000, classes=7, channels=3, asked=96)
    assert (chosen.name, chosen.image) == ("vit_few_patch16_96", (96, 96))
    assert "6x6 patches of 16" in reason
    with pytest.raises(UserError, match=r"patches of 16x16 do not divide an image of 100x100; .*96x96 or 112x112"):
        auto.model(500, 2_000, classes=7, channels=3, asked=100)


def test_bfloat16_is_taken_where_a_step_is_faster_in_it(monkeypatch, plan):
    for seconds, expected in (
        ({"float32": 2.0, "bfloat16": 1.0}, "bfloat16"),
        ({"float32": 1.0, "bfloat16": 1.0}, "float32"),
    ):
        monkeypatch.setattr(machine, "_seconds_a_step", lambda model, images, name, table=seconds: table[name])
        found, reasons = machine.resolve(plan.blueprint, 8, "cpu", "auto")
        assert found.precision == expected
        assert f"{seconds['bfloat16'] / seconds['float32']:.2f} of the time" in reasons["precision"]


@pytest.mark.parametrize(("seconds", "steps"), [(0.01, 10), (0.4, 6), (3.0, 4)])
def test_long_steps_are_measured_less_often(monkeypatch, plan, seconds, steps):
    taken = []
    monkeypatch.setattr(machine, "_seconds_a_step", lambda model, images, name: taken.append(name) or seconds)
    machine.resolve(plan.blueprint, 8, "cpu", "auto")
    assert taken == ["float32", "bfloat16"] * (steps // 2)


def test_an_absent_device_is_refused_with_those_that_are_here():
    if machine.torch.cuda.is_available():
        assert machine.pick_device("auto")[0] == "cuda"
    else:
        with pytest.raises(UserError, match=r"no cuda device is here.*cpu"):
            machine.pick_device("cuda")


def test_the_average_reaches_back_a_tenth_of_a_short_run(plan):
    steps = 3 * (1293 // plan.recipe.batch)
    assert plan.recipe.ema == pytest.approx(1 - 1 / (0.1 * steps), abs=1e-6)
    assert f"a tenth of {steps} steps" in plan.reasons["ema"]


@pytest.mark.parametrize("name", RECIPES)
def test_named_recipes_can_be_changed_entry_by_entry(name):
    assert recipe(name, {"epochs": 7}).epochs == 7
    assert recipe(name, {}) == RECIPES[name]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"epochs": 0}, "epochs wants at least 1, not 0"),
        ({"rate": float("nan")}, "rate wants a finite number"),
        ({"rate": -1.0}, "rate wants more than 0"),
        ({"last_rate": 1.0}, "last_rate 1.0 is above rate"),
        ({"smoothing": 1.0}, "smoothing"),
    ],
)
def test_a_wrong_entry_of_a_recipe_is_one_sentence(changes, complaint):
    with pytest.raises(UserError, match=complaint):
        recipe("few", changes)


@pytest.mark.parametrize(
    ("side", "images", "channels", "name"),
    [(8, 1_300, 1, "few"), (28, 60_000, 1, "grey"), (32, 50_000, 3, "cifar"), (500, 1_200_000, 3, "imagenet")],
)
def test_auto_picks_a_recipe_and_does_not_mirror_small_grey_pictures(side, images, channels, name):
    assert auto.recipe("vit_tiny", side, images, channels)[:2] == (name, {})
    mirrored = any(step["kind"] == "flip" for step in RECIPES[name].augment)
    assert mirrored == (channels == 3)


@pytest.mark.parametrize(("channels", "mirrored"), [(1, False), (3, True)])
def test_auto_takes_the_recipe_that_a_model_was_made_with(channels, mirrored):
    name, changes, _ = auto.recipe("vit_compact_28", 28, 60_000, channels)
    chosen = recipe(name, changes)
    assert (name, chosen.optimizer) == ("compact", Muon())
    assert any(step["kind"] == "flip" for step in chosen.augment) == mirrored
    assert auto.recipe("vit_compact_28", 28, 2_000, channels)[0] == "few"
