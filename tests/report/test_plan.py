"""The plan as rows: nested values named by their path, and every reason exactly once at its place."""

from pathlib import Path

from vitlab.report import facts, plan


def test_reasons_stand_at_their_entries(run: Path) -> None:
    sections, others = plan.sections(facts.read(run).plan)
    rows = {(key, e.name): (e.value, e.reason) for key, s in sections.items() for e in s.entries}
    assert rows["choices", "model"] == ("vit_shapes_patch2_8", "Small images need small patches.")
    assert rows["recipe", "epochs"] == ("3", "Three are enough for a test.")
    assert rows["recipe", "optimizer.name"] == ("adamw", "AdamW suits transformers.")
    assert rows["recipe", "optimizer.weight_decay"] == ("0.05", "")
    assert rows["machine", "threads"] == ("8", "The machine has eight cores.")
    assert rows["blueprint", "stages.2.depth"] == ("6", "")
    assert [(e.name, e.reason) for e in others] == [("workers", "Everything fits in memory.")]


def test_an_exact_name_goes_before_a_short_one() -> None:
    made = facts.Plan(
        "x",
        data={"size": 8},
        blueprint={"size": 16},
        reasons={"blueprint.size": "A power of two.", "size": "As the images are.", "blueprint": "The smallest."},
    )
    sections, others = plan.sections(made)
    assert sections["blueprint"].entries == (plan.Entry("size", "16", "A power of two."),)
    assert sections["blueprint"].reason == "The smallest."
    assert sections["data"].entries == (plan.Entry("size", "8", "As the images are."),)
    assert not others


def test_choices_and_augmentation_of_a_plan_are_shown() -> None:
    made = facts.Plan(
        "x",
        augment=[{"kind": "flip", "chance": 0.5}],
        accumulate=2,
        reasons={"accumulate": "Memory.", "augment": "Mild."},
    )
    sections, others = plan.sections(made)
    assert sections["choices"].entries == (plan.Entry("accumulate", "2", "Memory."),)
    assert sections["augment"].entries == (plan.Entry("flip.chance", "0.5"),)
    assert sections["augment"].reason == "Mild."
    assert not others


def test_a_very_long_blueprint_is_cut_and_says_so() -> None:
    long = facts.Plan("x", blueprint={"blocks": [{"width": k} for k in range(1000)]})
    section = plan.sections(long)[0]["blueprint"]
    assert len(section.entries) == plan.MOST_ROWS
    assert section.left_out == 1000 - plan.MOST_ROWS
