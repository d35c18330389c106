"""Watching a training: the figures of each epoch, and a training that is not changed by it."""

import pytest
import torch

from tests.explain import naive
from vitlab.commands.train import train
from vitlab.data.memory import Pictures
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.explain.anatomy.heads import heads
from vitlab.explain.drawing.epochs import draw
from vitlab.explain.epochs import Watch, read

GIVEN = Preprocess(size=(6, 10), channels=2, mean=(0.4,) * 2, std=(0.2,) * 2)


def pictures(count):
    return Pictures(torch.randint(0, 256, (count, 2, 6, 10), dtype=torch.uint8), torch.arange(count) % 5, ("",) * count)


def test_a_row_for_each_layer_and_epoch(tmp_path):
    model = naive.small().train()
    known, held = pictures(40), pictures(20)
    watch = Watch(tmp_path / "watched.csv", known, held, GIVEN)
    model(torch.randn(2, 2, 6, 10)).sum().backward()
    before = torch.random.get_rng_state()
    watch(model, 1)
    watch(model, 2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert model.training
    found = read(tmp_path / "watched.csv")
    assert [(row.epoch, row.layer) for row in found] == [(epoch, layer) for epoch in (1, 2) for layer in range(3)]
    expected = heads(model, [GIVEN.normalise(held.images)])
    for row in found[:3]:
        of = [head for head in expected if head.layer == row.layer]
        assert row.distance == pytest.approx(sum(head.distance for head in of) / 3, rel=1e-4)
        assert row.entropy == pytest.approx(sum(head.entropy for head in of) / 3, rel=1e-4)
        norm = torch.cat([p.grad.flatten() for p in model.blocks[row.layer].parameters()]).norm()
        assert row.gradient == pytest.approx(float(norm), rel=1e-4)
    assert draw(tmp_path / "watched.csv").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "the training was not watched"),
        ("epoch,layer\n", "holds no epoch yet"),
        ("epoch,layer\nx,y\n", "cannot be read"),
        ("\xff", "cannot be read"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "watched.csv"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=sentence):
        draw(path)


def test_a_watched_training_ends_with_the_same_weights(tmp_path):
    small = {"epochs": 2, "change": ("depth=1", "width=12"), "quiet": True, "precision": "float32", "threads": 1}
    plain = train("digits", **small, out=tmp_path / "plain").bundle.model.state_dict()
    same = {"plan": tmp_path / "plain" / "config.yaml", "quiet": True}  # another plan may measure other kernels
    watched = train("digits", **same, watch=True, out=tmp_path / "watched").bundle.model.state_dict()
    assert all(torch.equal(plain[name], watched[name]) for name in plain)
    found = read(tmp_path / "watched" / "watched.csv")
    assert [row.epoch for row in found] == [1, 2]
    assert all(row.gradient > 0 for row in found)
