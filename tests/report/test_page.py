"""The page: the right figures, everything escaped, nothing loaded, readable colours, and small."""

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from vitlab.report import facts, page

from .sample import COMMAND, HOSTILE

VOID = {"meta", "img", "input", "br", "link", "hr"}


class Reader(HTMLParser):
    """Text, elements and attributes of a page; notes elements that are closed out of order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.problems: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.fixture
def html(run: Path) -> str:
    return page.write(run).read_text(encoding="utf-8")


@pytest.fixture
def seen(html: str) -> Reader:
    return Reader(html)


def test_headline_and_summary(seen: Reader) -> None:
    assert (
        "87.5% of 40 images held out named correctly 95% interval 73.9% to 94.5% 5 errors on the test split"
        in seen.text
    )
    assert (
        "vit_shapes_patch2_8 with 1,000 parameters, trained for 3 epochs on 1,077 images of shapes (4 classes) "
        "in 7.2 s on cpu." in seen.text
    )
    assert "Highest validation accuracy 87.5% at epoch 2, with a validation loss of 0.7." in seen.text
    assert "Multiply-adds an image 1 M" in seen.text


def test_every_class_with_its_accuracy(html: str) -> None:
    body = html.split('id="classes"')[1].split("</section>")[0]
    rows = [Reader(row).text for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)[1:]]
    assert rows == [
        "三角形1060.0%85.7%",
        f"{HOSTILE}1090.0%90.0%",
        "circle10100%76.9%",
        'a "quoted" & long name10100%100%',
    ]


def test_confusion_as_matrix_and_pairs(html: str, seen: Reader) -> None:
    body = html.split('id="confusion"')[1].split("</section>")[0]
    matrix, pairs = body.split("Most confused pairs", 1)
    cells = [int(cell) for cell in re.findall(r"<td[^>]*>(\d+)</td>", matrix)]
    assert cells == [10, 0, 0, 0, 0, 9, 1, 0, 3, 1, 6, 0, 0, 0, 0, 10]
    assert '<td class="wrong" style="--shade:0.55">3</td>' in matrix  # the square root of 0.3
    assert "三角形circle330.0%" in Reader(pairs).text


def test_hostile_names_stay_text(html: str, seen: Reader) -> None:
    assert HOSTILE not in html
    assert HOSTILE in seen.text
    assert [tag for tag, _ in seen.elements].count("script") == 1
    titles = {attributes.get("title") for _, attributes in seen.elements}
    assert {HOSTILE, 'a "quoted" & long name'} <= titles


def test_hostile_plan_and_places(bare: Path) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    plan = {"command": evil, "model": evil, "data": {"name": evil, evil: evil}, "reasons": {evil: evil}}
    (bare / "config.yaml").write_text(json.dumps(plan))
    read = Reader(page.render(facts.read(bare)))
    assert "img" not in [tag for tag, _ in read.elements]
    assert not read.problems


def test_nothing_is_loaded_and_only_our_script_runs(html: str, seen: Reader) -> None:
    for tag, attributes in seen.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name, value in attributes.items():
            assert not name.startswith("on"), f"<{tag} {name}>"
            if name in {"src", "href", "srcset", "xlink:href", "action", "data"}:
                assert (value or "").startswith(("#", "data:image/")), f"<{tag} {name}={value!r}>"
    assert not re.search(r"@import|url\(|https?://|fetch\(|XMLHttpRequest|sendBeacon", html)
    script = html.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for t, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy


def test_markup_is_tidy_and_named(html: str, seen: Reader) -> None:
    assert html.startswith("<!doctype html>\n<html lang=")
    assert not seen.problems
    assert not seen.open
    ids = [a["id"] for _, a in seen.elements if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [str(a["href"])[1:] for t, a in seen.elements if t == "a"]
    assert set(targets) <= set(ids)
    assert all(a.get("alt") for t, a in seen.elements if t == "img")
    assert all(a.get("aria-label") or a.get("aria-hidden") or a.get("class") == "stretched"
               for t, a in seen.elements if t == "svg")  # fmt: skip


def test_mistakes_cost_plan_and_command(html: str, seen: Reader) -> None:
    assert 'class="pixelated" alt="Image shapes/0012"' in html
    assert "97.0% circle" in seen.text
    assert "1.0% 三角形" in seen.text
    assert "blocks85085.0%" in seen.text
    assert "16 KiB in all, for a batch of 64 images in bfloat16." in seen.text
    assert seen.text.count("AdamW suits transformers.") == 1
    assert seen.text.count("Everything fits in memory.") == 1
    assert COMMAND in seen.text
    assert "sha256 c0ffee" in seen.text
    assert "torch 2.9.1" in seen.text


def test_a_bare_run_says_what_is_missing(bare: Path) -> None:
    text = Reader(page.write(bare).read_text(encoding="utf-8")).text
    assert f"This run has not been evaluated on held-out images yet. To do so: vitlab evaluate '{bare}'" in text
    assert "This run is not finished: its folder holds no bundle yet." in text
    assert "Nothing has been measured yet: metrics.csv is missing or empty." in text
    assert "The cost was not recorded: there is no cost.json." in text
    assert "The plan holds the command and nothing else." in text
    assert COMMAND in text


def test_before_an_evaluation_the_headline_is_named_validation(run: Path) -> None:
    (run / "evaluation.json").unlink()
    text = Reader(page.render(facts.read(run))).text
    assert "87.5% validation accuracy after epoch 2, watched during training" in text
    assert "held out named" not in text


def test_training_images_are_not_called_held_out(evaluated: Callable[..., Path]) -> None:
    text = Reader(page.render(facts.read(evaluated(split="train")))).text
    assert "of 40 training images named correctly" in text


def test_a_diverged_run_says_so(bare: Path) -> None:
    (bare / "metrics.csv").write_text("epoch,train_loss\n1,2.0\n2,nan\n")
    text = Reader(page.render(facts.read(bare))).text
    assert "The loss was not finite at epoch 2: training had diverged" in text


def test_a_perfect_model_has_no_pairs(evaluated: Callable[..., Path]) -> None:
    run = evaluated(confusion=[[10 if i == j else 0 for j in range(4)] for i in range(4)], accuracy=1, mistakes=[])
    text = Reader(page.render(facts.read(run))).text
    assert "100% of 40 images" in text
    assert "0 errors" in text
    assert "No class was mistaken for another." in text
    assert "There are none: every image was named correctly." in text


@pytest.mark.parametrize("size", [2, 30, 31, 100, 1000])
def test_any_number_of_classes(evaluated: Callable[..., Path], size: int) -> None:
    names = [f"n{k:08d} a rather long name with several words, {HOSTILE}" for k in range(size)]
    confusion = [[(9 if i == j else 1 if j == (i + 1) % size else 0) for j in range(size)] for i in range(size)]
    run = evaluated(classes=names, confusion=confusion, images=10 * size, accuracy=0.9, mistakes=[])
    html = page.render(facts.read(run))
    read = Reader(html)
    assert not read.problems
    assert len(html.encode()) < 1_000_000
    assert ('class="matrix' in html) == (size <= page.MATRIX_CLASSES)
    assert "Most confused pairs" in html
    assert all(name in read.text for name in names)


def test_long_runs_stay_small(bare: Path) -> None:
    rows = "".join(f"{e},{1 / e},{0.5},{1.1 / e},{0.4}\n" for e in range(1, 20_001))
    (bare / "metrics.csv").write_text("epoch,train_loss,train_accuracy,val_loss,val_accuracy\n" + rows)
    html = page.render(facts.read(bare))
    assert "of 20,000 epochs" in html
    assert len(html.encode()) < 1_000_000


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance, WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_are_readable(theme: int) -> None:
    css = resources.files("vitlab.report").joinpath("page.css").read_text(encoding="utf-8")
    block = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[theme]
    hexes = {n: tuple(int(v[k : k + 2], 16) for k in (0, 2, 4)) for n, v in re.findall(r"--(\w+): #(\w{6})", block)}
    triples = {n: tuple(map(int, v.split())) for n, v in re.findall(r"--(right|wrong): ([\d ]+);", block)}
    for name, ground in itertools.product(("ink", "quiet", "train", "validation"), ("paper", "wash")):
        assert contrast(hexes[name], hexes[ground]) >= 4.5, (name, ground)
    for kind, base, slope in re.findall(r"\.(right|wrong) \{ background: rgb\(.*?calc\(([\d.]+) \+ ([\d.]+)", css):
        strength = float(base) + float(slope)
        cell = tuple(strength * c + (1 - strength) * p for c, p in zip(triples[kind], hexes["paper"], strict=True))
        assert contrast(hexes["ink"], cell) >= 4.5, kind


def test_what_the_plan_says_of_the_data_is_not_said_twice(run: Path) -> None:
    card = json.loads((run / "bundle" / "model.json").read_text())
    card["data"]["train"] = 1077  # as in the plan
    (run / "bundle" / "model.json").write_text(json.dumps(card))
    body = page.render(facts.read(run)).split('id="data"')[1].split("</section>")[0]
    assert body.count("1077") == 1
    assert body.count("c0ffee") == 1


def test_examples_show_the_image_and_the_maps_that_are_pictures(run: Path) -> None:
    text = page.write(run).read_text()
    looks = text[text.index('<section id="looks"') : text.index('<section id="data"')]
    assert looks.count("<img") == 3  # a map that is no picture is left out
    assert looks.index("in truth") < looks.index("rightly called")
    assert looks.count("<figcaption>attention rollout</figcaption>") == 1
    assert "<script" not in looks


def test_a_run_without_examples_has_no_section_about_them(run: Path) -> None:
    (run / "examples.json").unlink()
    assert "looks-title" not in page.write(run).read_text()
