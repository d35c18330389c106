"""A CNN in the same engine: trained, its norms' statistics averaged, saved, used; its attention asked for."""

import pytest
import torch

from vitlab.data.origin import Origin
from vitlab.errors import UserError
from vitlab.explain.methods import attention
from vitlab.models.registry import blueprint
from vitlab.training.fit import fit
from vitlab.training.learner import Learner
from vitlab.training.resolve import Request, resolve

SMALL = blueprint("resnet18_cifar_32").change(image=8, width=8, depths=[1, 1, 1, 1])
REQUEST = Request(
    Origin("digits"),
    model=SMALL,
    recipe_changes={"epochs": 2, "ema": 0.8},
    device="cpu",
    precision="float32",
    threads=1,
)


def test_statistics_of_norms_are_averaged_as_the_weights_are(tmp_path, monkeypatch):
    """Every step's statistics noted from outside, averaged by hand."""
    seen = []

    def note(self, *arguments):
        seen.append({name: b.detach().clone() for name, b in self.model.named_buffers() if b.is_floating_point()})

    monkeypatch.setattr(Learner, "on_train_batch_end", note)
    ready = resolve(REQUEST)
    model = fit(ready.plan, ready.splits, tmp_path, quiet=True)
    expected = seen[0]
    for statistics in seen[1:]:
        expected = {name: 0.8 * expected[name] + 0.2 * statistics[name] for name in expected}
    averaged = dict(model.named_buffers())
    assert len(seen) == ready.plan.steps
    assert len(expected) == 2 * sum(isinstance(module, torch.nn.BatchNorm2d) for module in model.modules())
    for name, value in expected.items():
        torch.testing.assert_close(averaged[name], value, atol=1e-5, rtol=1e-4)


def test_a_resnet_is_trained_saved_and_used_like_any_model(tmp_path):
    import vitlab

    run = vitlab.train("digits", model=SMALL, epochs=6, device="cpu", out=tmp_path / "run", quiet=True, threads=1)
    assert run.evaluation.accuracy > 0.9
    assert vitlab.evaluate(run.folder).accuracy == run.evaluation.accuracy
    assert vitlab.profile(run.folder).cost.by_part.keys() >= {"conv1", "layer1", "layer4", "fc"}
    assert "resnet" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_attention_of_a_model_without_any_is_one_sentence():
    model, images = SMALL.build(), torch.zeros(1, SMALL.channels, 8, 8)
    with pytest.raises(UserError, match="this model has no attention to look at"):
        attention.last_layer(model, images, torch.zeros(1, dtype=torch.long))


def test_the_scales_of_a_resnet_halve_from_stage_to_stage():
    described = blueprint("resnet50").change(image=(72, 40), width=4)
    with torch.no_grad():
        maps = described.build().scales(torch.zeros(1, 3, 72, 40))
    assert [tuple(found.shape[2:]) for found in maps] == list(described.grids) == [(18, 10), (9, 5), (5, 3), (3, 2)]
    assert [found.shape[1] for found in maps] == list(described.widths) == [16, 32, 64, 128]
