"""The page of an explanation in a real Chromium: it fetches nothing and answers pointer, tap and keys truly."""

import re

import numpy as np
import pytest

import vitlab
from vitlab.commands.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "digits"
    train("digits", change=("depth=3",), epochs=2, precision="float32", quiet=True, out=out)
    return vitlab.explain(out, all_heads=True, method=("attention", "rollout", "occlusion"))


@pytest.fixture
def opened(chromium, explained):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(explained.page.as_uri())
    page.wait_for_function("document.getElementById('said').textContent !== ''")
    yield page
    page.close()


def point(page, row, column, grid=(4, 4), canvas="#to"):
    page.locator(canvas).scroll_into_view_if_needed()
    box = page.locator(canvas).bounding_box()
    page.mouse.move(
        box["x"] + box["width"] * (column + 0.5) / grid[1], box["y"] + box["height"] * (row + 0.5) / grid[0]
    )


def read(page, which):
    """(place, share) of the strongest three, as the page says them."""
    said = page.locator(f"#{which}-reading").inner_text()
    found = re.findall(r"(class token|row (\d+), column (\d+)) ([\d.]+) %", said)
    return [(0 if not row else 1 + (int(row) - 1) * 4 + int(column) - 1, float(p) / 100) for _, row, column, p in found]


def agrees(said, values, rows):
    """Three readings against the recorded values: 8 bits of each value's own row, two decimals of a percent."""
    assert len(said) == 3
    for token, share in said:
        assert abs(share - values[token]) <= rows[token] / 510 + 6e-5
    least = min(values[token] for token, _ in said)
    assert np.partition(values, -3)[-3] <= least + rows.max() / 255


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_and_fetches_nothing(chromium, explained, width, theme):
    page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(explained.page.as_uri())
    page.wait_for_function("document.getElementById('said').textContent !== ''")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_pointing_at_a_patch_shows_what_it_looks_at_and_what_looks_at_it(opened, explained):
    layer = explained[0].layers[-1]
    at_rest = opened.evaluate("document.getElementById('to').toDataURL()")
    agrees(read(opened, "to"), layer.reading.mean(axis=0), np.full(17, layer.reading.mean(axis=0).max()))
    for row, column in ((0, 0), (1, 2), (3, 3)):
        point(opened, row, column)
        token = 1 + 4 * row + column
        assert opened.locator("#to-title").inner_text() == f"What row {row + 1}, column {column + 1} looks at"
        agrees(read(opened, "to"), layer.mean[token], np.full(17, layer.mean[token].max()))
        agrees(read(opened, "from"), layer.mean[:, token], layer.mean.max(axis=1))
        assert opened.evaluate("document.getElementById('to').toDataURL()") != at_rest


def test_keys_step_through_layers_and_heads(opened, explained):
    layers = explained[0].layers
    point(opened, 2, 2)
    opened.mouse.down()
    opened.mouse.up()
    token = 1 + 4 * 2 + 2
    assert opened.locator("#layer-name").inner_text() == "2 of 0 to 2"
    for layer in (1, 0):
        opened.keyboard.press("ArrowLeft")
        assert opened.locator("#layer-name").inner_text() == f"{layer} of 0 to 2"
        agrees(read(opened, "to"), layers[layer].mean[token], np.full(17, layers[layer].mean[token].max()))
    opened.keyboard.press("Shift+ArrowLeft")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("ArrowDown")
    found, token = layers[0].every[1], token - 1
    assert opened.locator("#head").input_value() == "1"
    agrees(read(opened, "to"), found[token], np.full(17, found[token].max()))
    agrees(read(opened, "from"), found[:, token], found.max(axis=1))


def test_methods_and_images_are_chosen(opened, explained):
    opened.keyboard.press("n")
    assert opened.locator("#said").inner_text() == explained[1].summary
    opened.locator("#methods button").nth(2).click()
    assert opened.locator("#to-title").inner_text() == "Occlusion"
    heat = explained[1].heat["occlusion"]
    row, column = np.unravel_index(heat.argmax(), heat.shape)
    assert f"row {row + 1}, column {column + 1} of 4 x 4" in opened.locator("#to-reading").inner_text()


def test_a_tap_holds_a_patch_on_a_phone(chromium, explained):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(explained.page.as_uri())
    page.wait_for_function("document.getElementById('said').textContent !== ''")
    box = page.locator("#to").bounding_box()
    page.locator("#to").tap(position={"x": box["width"] * 0.1, "y": box["height"] * 0.9})
    assert page.locator("#to-title").inner_text() == "What row 4, column 1 looks at"
    page.locator("#tokens button").first.tap()
    assert page.locator("#to-title").inner_text() == "What the class token looks at"
    context.close()
