"""The interactive page: its figures, its size, and what it does with names from strangers."""

import base64
import json
import re

import numpy as np
import pytest

from vitlab.bundle import Prediction
from vitlab.explain.explanation import Explanation, Layer
from vitlab.report.explain_data import packed, together
from vitlab.report.explain_page import render

HOSTILE = "</script><script>alert(1)</script>"


def unpacked(found):
    step = np.frombuffer(base64.b64decode(found["step"]), dtype="<f4")
    low = np.frombuffer(base64.b64decode(found["low"]), dtype="<f4") if "low" in found else np.zeros_like(step)
    bytes_ = np.frombuffer(base64.b64decode(found["bytes"]), dtype=np.uint8).reshape(len(step), -1)
    return low[:, None] + step[:, None] * bytes_, step


def explanation(layers=2, heads=3, grid=(4, 5), side=(40, 50), where="cat.jpg", all_heads=False):
    draw = np.random.default_rng(0)
    tokens = 1 + grid[0] * grid[1]

    def shares(*shape):
        values = draw.exponential(size=shape).astype(np.float32)
        return values / values.sum(axis=-1, keepdims=True)

    return Explanation(
        where=where,
        image=draw.integers(0, 256, (*side, 3), dtype=np.uint8).repeat(1, axis=0),
        prediction=Prediction("cat", 0.7, {"cat": 0.7, HOSTILE: 0.3}),
        target="cat",
        layers=tuple(
            Layer(f"blocks.{i}.attention", grid, ("class token",), shares(tokens, tokens), shares(heads, tokens),
                  shares(heads, tokens, tokens) if all_heads else None)
            for i in range(layers)
        ),
        heat={name: draw.normal(size=grid).astype(np.float32) for name in ("attention", "rollout", "gradient")},
        refused={"occlusion": f"because of {HOSTILE}"},
        truth="cat",
    )  # fmt: skip


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("signed", [False, True])
def test_values_are_kept_to_half_a_step_of_their_row(signed):
    rows = np.random.default_rng(1).exponential(size=(30, 200)) ** 3
    rows = rows - 2 if signed else rows
    found, step = unpacked(packed(rows))
    assert (np.abs(found - rows) <= 0.501 * step[:, None]).all()
    assert ("low" in packed(rows)) == signed


def test_a_row_of_nothing_stays_nothing():
    assert (unpacked(packed(np.zeros((2, 3))))[0] == 0).all()


def test_the_page_holds_the_figures_of_every_layer():
    found = explanation(all_heads=True)
    (image,) = data_of(render("vit", [found]))["images"]
    for layer, shown in zip(found.layers, image["layers"], strict=True):
        mean, step = unpacked(shown["mean"])
        assert (np.abs(mean - layer.mean) <= 0.501 * step[:, None]).all()
        reading, step = unpacked(shown["reading"])
        assert (np.abs(reading[1:] - layer.reading) <= 0.501 * step[1:, None]).all()
        np.testing.assert_allclose(reading[0], layer.reading.mean(axis=0), atol=float(step[0]))
        every, step = unpacked(shown["every"])
        assert (np.abs(every - layer.every.reshape(every.shape)) <= 0.501 * step[:, None]).all()


def test_four_images_of_a_large_model_stay_below_three_megabytes():
    """12 layers of 12 heads at 224 pixels; noise is the worst that a picture can be."""
    found = [explanation(12, 12, (14, 14), (224, 224)) for _ in range(4)]
    page = render("vit_base_patch16_224", found)
    assert 2_500_000 < len(page.encode()) < 3_000_000
    assert data_of(page)["images"][0]["layers"][0]["grid"] == [14, 14]


def test_many_patches_are_taken_together_in_squares():
    mean, summed = together((4, 6), (2, 3), 1)
    whole = np.random.default_rng(2).random((25, 25)).astype(np.float32)
    found = mean @ whole @ summed
    patches = whole[1:, 1:].reshape(2, 2, 3, 2, 2, 2, 3, 2)  # rows within, columns within, of both sides
    np.testing.assert_allclose(found[1:, 1:].reshape(2, 3, 2, 3), patches.mean(axis=(1, 3)).sum(axis=(3, 5)), rtol=1e-5)
    np.testing.assert_allclose(found[0, 1:].reshape(2, 3), whole[0, 1:].reshape(2, 2, 3, 2).sum(axis=(1, 3)), rtol=1e-5)
    assert found[0, 0] == whole[0, 0]
    shown = data_of(render("vit", [explanation(1, 2, (30, 30), (60, 60))]))["images"][0]["layers"][0]
    assert (shown["grid"], shown["patches"]) == ([15, 15], [30, 30])


def test_shares_stay_shares_when_taken_together():
    mean, summed = together((7, 5), (4, 3), 2)
    rows = np.random.default_rng(3).random((37, 37)).astype(np.float32)
    rows /= rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose((mean @ rows @ summed).sum(axis=1), 1, rtol=1e-5)


def test_names_of_strangers_are_text():
    page = render(HOSTILE, [explanation(where=HOSTILE)])
    assert "<script>alert" not in page
    assert page.count("<script") == 2
    assert data_of(page)["images"][0]["where"] == HOSTILE
