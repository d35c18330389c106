"""A real Chromium for every page."""

import shutil

import pytest

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    assert path, "no chromium on the path: install Debian's package chromium, then run `make test-browser` again"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
