"""Everything about one image: arrays against the recorder and the methods, one by one."""

import numpy as np
import pytest
import torch

import vitlab
from tests.contract.cases import CASES, DISTINCT, built
from tests.explain import naive
from vitlab.bundle import Bundle, Card
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.explain.methods.known import METHODS
from vitlab.explain.record import recording
from vitlab.report.explain_page import render

CLASSES = ("ant", "bee", "cat", "dog", "eel")


def bundle(**changes):
    model = naive.small(channels=3, **changes)
    given = Preprocess(size=model.blueprint.image, mean=(0.4,) * 3, std=(0.2,) * 3)
    return Bundle(model, Card(blueprint=model.blueprint, preprocess=given, classes=CLASSES))


@pytest.fixture
def picture():
    return np.random.default_rng(0).integers(0, 256, (6, 10, 3), dtype=np.uint8)


def test_arrays_are_those_of_the_recorder_and_the_methods(picture):
    made = bundle(prefix={"cls": True, "registers": 1})
    found = vitlab.explain(made, picture, method=("attention", "rollout", "occlusion"))[0]
    images = made.card.preprocess.normalise(made.card.preprocess.fit(picture)[None])
    with recording(made.model) as seen, torch.no_grad():
        logits = made.model(images)
    assert found.prediction.label == CLASSES[int(logits.argmax())]
    assert found.target == found.prediction.label
    assert [layer.name for layer in found.layers] == [f"blocks.{i}.attention" for i in range(3)]
    for layer, recorded in zip(found.layers, seen, strict=True):
        assert layer.prefix == ("class token", "register 1")
        assert layer.grid == (3, 5)
        np.testing.assert_array_equal(layer.mean, recorded.map[0].mean(dim=0))
        np.testing.assert_allclose(layer.reading, recorded.map[0][:, 0], rtol=1e-6)
        np.testing.assert_array_equal(layer.heads[2], layer.reading[2, 2:].reshape(3, 5))
        assert layer.every is None
    for name in ("attention", "rollout", "occlusion"):
        expected = METHODS[name].explain(made.model, images, logits.argmax(dim=1))[0]
        np.testing.assert_allclose(found.heat[name], expected, rtol=1e-5, atol=1e-7)


def test_every_head_where_asked_for(picture):
    found = vitlab.explain(bundle(), picture, all_heads=True, method=("attention",))[0]
    for layer in found.layers:
        np.testing.assert_allclose(layer.every.mean(axis=0), layer.mean, atol=1e-7)


def test_another_class_is_explained_when_asked_for(picture):
    made = bundle()
    maps = [vitlab.explain(made, picture, target=name, method=("weighted-rollout",))[0] for name in CLASSES[:2]]
    assert [each.target for each in maps] == ["ant", "bee"]
    assert not np.allclose(maps[0].heat["weighted-rollout"], maps[1].heat["weighted-rollout"])
    with pytest.raises(UserError, match="no class 'bea'; did you mean 'bee'"):
        vitlab.explain(made, picture, target="bea")


def test_what_a_method_cannot_do_is_said_and_the_others_are_there(picture):
    found = vitlab.explain(bundle(block__attention__core={"kind": "linformer", "rank": 4}), picture)[0]
    assert "they mix with signs" in found.refused["rollout"]
    assert {"attention", "gradient", "occlusion"} <= set(found.heat)


def test_a_loaded_bundle_is_explained_without_writing(picture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = vitlab.explain(bundle(), [picture, picture])
    assert len(found) == 2
    assert found.page is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in DISTINCT if CASES[name].channels in (1, 3)])
def test_every_model_is_explained_or_said_why_not(name):
    """Windows, spatial reduction, no class token, no attention: all have a page, with what there is."""
    case = CASES[name]
    given = Preprocess(size=case.image, channels=case.channels, mean=(0.4,) * case.channels, std=(0.2,) * case.channels)
    labels = tuple(f"class {i}" for i in range(case.classes))
    made = Bundle(built(name), Card(blueprint=case, preprocess=given, classes=labels))
    picture = np.random.default_rng(0).integers(0, 256, (*case.image, case.channels), dtype=np.uint8)
    found = vitlab.explain(made, picture, method=("attention", "weighted-rollout", "grad-cam", "gradient"))[0]
    attends = '"attention"' in case.model_dump_json()
    assert bool(found.layers) == attends
    assert set(found.refused) == (set() if attends else {"attention", "weighted-rollout"})
    assert bool(found.scales) == (not attends)
    for layer in found.layers:
        tokens = len(layer.prefix) + layer.grid[0] * layer.grid[1]
        assert layer.mean.shape == (tokens, tokens)
        assert layer.heads.shape[1:] == layer.grid
    text = render(case.name, [found])
    assert text.count(found.layers[-1].name if attends else "no attention to look at") == (1 if attends else 2)


def test_it_shows_itself_in_a_notebook(picture):
    found = vitlab.explain(bundle(), picture, method=("attention",))
    assert found[0]._repr_png_().startswith(b"\x89PNG")
    assert found._repr_html_().startswith('<img alt="Explanation(image 0: ')
