"""The page of a run that goes on, in a real Chromium: it follows the run by itself, and rests at its end."""

import contextlib
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pytest

from vitlab.commands.train import train
from vitlab.report import facts, page
from vitlab.report.live import Live

pytestmark = pytest.mark.slow

# What the page was called each time that it was loaded.
TITLES = """addEventListener("DOMContentLoaded",
    () => { sessionStorage.titles = (sessionStorage.titles ?? "") + "|" + document.title; });"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "digits"
    train("digits", change=("depth=1", "width=12"), epochs=6, precision="float32", quiet=True, threads=1, out=out)
    return out


def draw(run, state="training", ago=0.0, again=1.0, **known):
    now = datetime.now().astimezone() - timedelta(seconds=ago)
    return page.write_live(facts.read(run), Live(run, state, now, again, epoch=6, epochs=8, **known))


def titled(opened, beginning, within=15):
    """Wait until the page is called so; its policy lets nobody evaluate a condition inside it."""
    from playwright.sync_api import Error

    until, title = time.monotonic() + within, ""
    while not title.startswith(beginning):
        assert time.monotonic() < until, title
        opened.wait_for_timeout(100)
        with contextlib.suppress(Error):  # asked while it was loading itself anew
            title = opened.title()


@pytest.fixture
def opened(chromium, run):
    """A page that counts how often it was loaded, and what it asked for and complained of."""
    found = chromium.new_page(viewport={"width": 1280, "height": 900})
    found.loads, found.asked, found.complaints = [], [], []
    found.on("load", lambda _: found.loads.append(1))
    found.on("request", lambda request: found.asked.append(request.url))
    found.on("console", lambda message: found.complaints.append(message.text))
    found.on("pageerror", lambda error: found.complaints.append(str(error)))
    yield found
    found.close()


@pytest.mark.parametrize("width", [375, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_and_fetches_nothing(chromium, run, width, theme):
    opened = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    asked, complaints = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: complaints.append(message.text))
    opened.goto(draw(run, share=0.4, left=3725.0, again=600.0).as_uri())
    assert "Training, epoch 6 of 8" in opened.locator(".state").inner_text()
    assert "about 1 h 2 min left" in opened.locator(".state").inner_text()
    assert opened.locator("figure").count() == 4
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in asked if not url.startswith("file:")] == []
    assert complaints == []
    opened.close()


def test_it_follows_the_run_and_rests_when_it_has_ended(opened, run):
    opened.goto(draw(run, share=0.4).as_uri())
    assert opened.title().startswith("40%")
    opened.locator("details").first.evaluate("fold => fold.open = true")
    draw(run, share=0.7)
    titled(opened, "70%")
    assert opened.locator("details").first.evaluate("fold => fold.open")
    page.write(run)
    titled(opened, "vit_")
    loads = len(opened.loads)
    assert loads >= 3
    opened.wait_for_timeout(3_000)
    assert len(opened.loads) == loads
    assert opened.locator(".live").count() == 0
    assert opened.complaints == []


def test_a_figure_that_is_read_is_not_taken_away(opened, run):
    opened.goto(draw(run, share=0.4).as_uri())
    box = opened.locator(".plot").first.bounding_box()
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.wait_for_timeout(3_000)
    assert len(opened.loads) == 1
    assert "epoch" in opened.locator(".reading").first.inner_text()
    opened.mouse.move(1, 1)
    opened.wait_for_timeout(2_500)
    assert len(opened.loads) >= 2


@pytest.mark.parametrize(("ago", "silence"), [(5, ""), (3 * 3600 + 720, "Nothing new for 3 h 12 min.")])
def test_a_run_that_was_killed_is_told_by_its_silence(opened, run, ago, silence):
    opened.goto(draw(run, ago=ago, share=0.4).as_uri())
    onward = opened.locator(".onward")
    assert onward.is_visible() == bool(silence)
    if silence:
        said = onward.inner_text()
        assert said.startswith(f"{silence} If the run was killed, vitlab train --resume ")
        opened.wait_for_timeout(3_000)
        assert len(opened.loads) == 1  # it looks less often
    assert f"{'3 h 12 min' if ago > 60 else ''}" in opened.locator(".drawn").inner_text()


def test_without_a_script_it_says_the_same(chromium, run):
    context = chromium.new_context(java_script_enabled=False)
    opened = context.new_page()
    loads = []
    opened.on("load", lambda _: loads.append(1))
    opened.goto(draw(run, share=0.4).as_uri())
    assert opened.locator(".onward").inner_text().startswith("Should that be long ago, the run was killed: vitlab")
    opened.wait_for_timeout(3_500)
    assert len(loads) >= 2
    context.close()


def test_a_real_run_from_its_plan_to_its_report(opened, tmp_path):
    words = "train digits --epochs 80 --change depth=1 width=12 --precision float32 --threads 1 --out run"
    child = subprocess.Popen(
        [sys.executable, "-m", "vitlab", *words.split()],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        report, until = tmp_path / "run" / "report.html", time.monotonic() + 60
        while not report.is_file():
            assert time.monotonic() < until
            time.sleep(0.05)
        opened.add_init_script(TITLES)
        opened.goto(report.as_uri())
        titled(opened, "vit_", within=120)
        titles = opened.evaluate("sessionStorage.titles").split("|")[1:]
        shares = [int(title.partition("%")[0]) for title in titles if "%" in title]
        assert shares
        assert shares == sorted(shares)
        assert titles[0].startswith("beginning: ")
        assert "of 360 images held out named correctly" in opened.locator(".under").inner_text()
        assert opened.complaints == []
        assert child.wait(30) == 0
    finally:
        child.kill()
