"""The page about a run, opened in a real Chromium: nothing is fetched, nothing overflows, the curves answer."""

import pytest

from vitlab.commands.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page_of_a_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "digits"
    run = train("digits", change=("depth=1",), epochs=3, precision="float32", quiet=True, out=out)
    return run.report


@pytest.mark.parametrize("width", [375, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_and_fetches_nothing(chromium, page_of_a_run, width, theme):
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(page_of_a_run.as_uri())
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    bright = sum(int(part) for part in background.strip("rgb()").split(",")[:3]) > 3 * 128
    assert bright == (theme == "light")
    page.close()


def test_pointing_at_the_curves_tells_the_figures_of_that_epoch(chromium, page_of_a_run):
    page = chromium.new_page(viewport={"width": 1200, "height": 900})
    page.goto(page_of_a_run.as_uri())
    chart = page.locator("svg").first
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.12, box["y"] + box["height"] / 2)
    first = page.locator("body").inner_text()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    last = page.locator("body").inner_text()
    assert "epoch 1: train" in first
    assert "epoch 3: train" in last
    page.close()
