"""Distillation: losses against naive ones, each head its own target, any teacher, answers remembered as live ones."""

import math

import pytest
import torch
from torch.nn import functional

from vitlab.bundle import Bundle, Card
from vitlab.data.memory import Pictures
from vitlab.data.origin import Origin
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.models.registry import blueprint
from vitlab.training.distill import Hard, Soft
from vitlab.training.fit import fit
from vitlab.training.objectives.distilled import Distilled
from vitlab.training.plan import Plan
from vitlab.training.resolve import Request, replay, resolve
from vitlab.training.teacher import Remembering, Teacher

DEIT = blueprint("deit_tiny_distilled_patch16_224").change(
    image=8, patch__size=2, width=12, depth=2, channels=1, classes=3
)
STUDENT = Preprocess(size=(8, 8), channels=1, mean=(0.3,), std=(0.4,))


def bundle(classes=("a", "b", "c"), channels=1, side=8, seed=0):
    torch.manual_seed(seed)
    described = blueprint("resnet18_cifar_32").change(
        image=side, channels=channels, width=4, depths=[1, 1, 1, 1], classes=len(classes)
    )
    mean, std = (0.5, 0.4, 0.6)[:channels], (0.2, 0.3, 0.1)[:channels]
    preprocess = Preprocess(size=(side, side), channels=channels, mean=mean, std=std)
    return Bundle(described.build().eval(), Card(blueprint=described, preprocess=preprocess, classes=tuple(classes)))


def softmax(row):
    total = sum(math.exp(value) for value in row)
    return [math.exp(value) / total for value in row]


def naive_hard(logits, taught):
    rows = zip(logits.tolist(), taught.tolist(), strict=True)
    losses = [-math.log(softmax(student)[teacher.index(max(teacher))]) for student, teacher in rows]
    return sum(losses) / len(losses)


def naive_soft(logits, taught, t):
    total = 0.0
    for student, teacher in zip(logits.tolist(), taught.tolist(), strict=True):
        p, q = softmax([v / t for v in teacher]), softmax([v / t for v in student])
        total += t * t * sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    return total / len(logits)


@pytest.mark.parametrize("temperature", [1.0, 3.0, 0.5])
def test_the_losses_are_those_of_their_equations(temperature):
    logits, taught = torch.randn(6, 5), 3 * torch.randn(6, 5)
    assert float(Hard().loss(logits, taught)) == pytest.approx(naive_hard(logits, taught), rel=1e-5)
    soft = Soft(temperature=temperature)
    assert float(soft.loss(logits, taught)) == pytest.approx(naive_soft(logits, taught, temperature), rel=1e-4)
    assert float(soft.loss(taught, taught)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("distill", [Hard(share=0.5), Soft(share=0.7, temperature=2.0)])
def test_each_head_has_its_own_target(distill):
    torch.manual_seed(0)
    model, images, labels = DEIT.build().train(), torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1])
    taught = torch.randn(5, 3)
    outcome = Distilled(lambda _: taught, distill, smoothing=0.1)(model, images, labels)
    pooled = model.features(images).pooled
    first, second = model.head.cls(pooled[:, :12]), model.head.distillation(pooled[:, 12:])
    naive = naive_hard(second.detach(), taught) if isinstance(distill, Hard) else naive_soft(second, taught, 2.0)
    from_labels = float(functional.cross_entropy(first.detach(), labels, label_smoothing=0.1))
    assert float(outcome.loss) == pytest.approx((1 - distill.share) * from_labels + distill.share * naive, rel=1e-4)
    assert int(outcome.correct) == int((((first + second) / 2).argmax(dim=1) == labels).sum())
    second_loss = Hard().loss(model.answers(images)[1], taught)
    assert torch.autograd.grad(second_loss, model.head.cls.weight, allow_unused=True) == (None,)


def test_a_model_with_one_head_learns_both_with_it():
    model = bundle().model.train()
    images, labels, taught = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 0]), torch.randn(4, 3)
    logits = model(images)
    outcome = Distilled(lambda _: taught, Hard(share=0.25), smoothing=0.0)(model, images, labels)
    expected = 0.75 * float(functional.cross_entropy(logits, labels)) + 0.25 * naive_hard(logits, taught)
    assert float(outcome.loss) == pytest.approx(expected, rel=1e-4)


def test_in_evaluation_no_teacher_is_asked_and_heads_are_averaged():
    def never(_):
        raise AssertionError

    model, images, labels = DEIT.build().eval(), torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1])
    outcome = Distilled(never, Soft(), smoothing=0.1)(model, images, labels)
    torch.testing.assert_close(outcome.loss, functional.cross_entropy(sum(model.answers(images)) / 2, labels))


def test_a_teacher_of_another_size_colours_and_order_of_classes_sees_the_same_picture():
    pixels = torch.randint(0, 256, (4, 1, 8, 8), dtype=torch.uint8)
    teacher = bundle(classes=("c", "x", "a", "b"), channels=3, side=12)
    found = Teacher(teacher, ("a", "b", "c"), STUDENT)(STUDENT.normalise(pixels))
    larger = functional.interpolate(pixels.float(), size=(12, 12), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (teacher.card.preprocess.mean, teacher.card.preprocess.std))
    with torch.no_grad():
        expected = teacher.model((larger.expand(-1, 3, -1, -1) / 255 - mean) / std)[:, [2, 3, 0]]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_teacher_that_does_not_know_the_classes_is_refused():
    with pytest.raises(UserError, match="does not know 'd'; take one trained on the same classes"):
        Teacher(bundle(), ("a", "d"), STUDENT)


def test_answers_remembered_are_those_given_live():
    teacher = Teacher(bundle(), ("a", "b", "c"), STUDENT)
    pixels = torch.randint(0, 256, (300, 1, 8, 8), dtype=torch.uint8)
    asked = []
    live = teacher.__class__.__call__
    remembering = Remembering(teacher, Pictures(pixels, torch.zeros(300).long(), ("",) * 300), "cpu")
    some = STUDENT.normalise(pixels[[7, 299, 256, 7]])
    expected = live(teacher, some)
    teacher.model.register_forward_hook(lambda *_: asked.append(1))
    torch.testing.assert_close(remembering(some), expected, atol=1e-6, rtol=1e-6)
    assert asked == []
    torch.testing.assert_close(remembering(some + 0.5), live(teacher, some + 0.5))
    assert asked


@pytest.mark.parametrize("augment", [(), ({"kind": "affine", "shift": 0.1},)], ids=["still", "varied"])
def test_a_whole_run_with_a_teacher_repeats_bit_for_bit(augment, tmp_path):
    digits = tuple("0123456789")
    bundle(classes=digits).save(tmp_path / "teacher")
    asked = Request(
        Origin("digits"),
        model=DEIT,
        teacher=str(tmp_path / "teacher"),
        recipe_changes={"epochs": 1, "augment": augment, "distill": {"kind": "soft", "temperature": 2.0}},
        device="cpu",
        precision="float32",
        threads=1,
    )
    ready = resolve(asked)
    assert ready.plan.teacher.remembered == (not augment)
    assert ready.plan.reasons["teacher"].startswith("soft targets, 50% of the loss")
    (tmp_path / "config.yaml").write_text(ready.plan.to_yaml(), encoding="utf-8")
    again = replay(Plan.read(tmp_path / "config.yaml"), Origin("digits"))
    for name in "abc":
        (tmp_path / name).mkdir()
    one, two = (fit(each.plan, each.splits, tmp_path / name, quiet=True) for each, name in ((ready, "a"), (again, "b")))
    assert all(torch.equal(one.state_dict()[name], tensor) for name, tensor in two.state_dict().items())
    alone = resolve(Request(**{**vars(asked), "teacher": None}))
    other = fit(alone.plan, alone.splits, tmp_path / "c", quiet=True)
    assert not torch.equal(other.state_dict()["head.distillation.weight"], one.state_dict()["head.distillation.weight"])


def test_what_a_student_imitates_is_its_teacher(tmp_path):
    """A teacher that calls every digit by the next one's name, and nothing but the teacher to learn from."""
    import vitlab

    common = {"device": "cpu", "precision": "float32", "threads": 1, "quiet": True}
    small = bundle().card.blueprint.change(width=8)
    run = vitlab.train("digits", model=small, out=tmp_path / "teacher", epochs=5, **common)
    wrong = run.bundle.card.model_copy(update={"classes": tuple(str((i + 1) % 10) for i in range(10))})
    Bundle(run.bundle.model, wrong).save(tmp_path / "wrong")
    student = vitlab.train(
        "digits",
        model=small,
        teacher=tmp_path / "wrong",
        entry=('distill={"kind":"hard","share":1.0}',),
        epochs=5,
        out=tmp_path / "student",
        **common,
    )
    assert run.evaluation.accuracy > 0.9
    assert student.evaluation.accuracy < 0.1
