"""What a person, a script and a browser are shown, hostile names included; the list to leave out."""

import html
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import vitlab
from tests.check import museum
from tests.check.museum import picture, save
from vitlab.cli import main
from vitlab.commands.check import check
from vitlab.data.checks.finding import shown
from vitlab.data.quarantine import read_quarantine, without, write_quarantine
from vitlab.data.sources.source import Samples, Source
from vitlab.errors import UserError

HOSTILE = [
    *("<script>alert(1)<.png", '"><img src=x onerror=alert(1)>.png', "two\nlines.png", "\x1b[2Jclear.png"),
    *(
        "turn\u202egnp.png",
        os.fsdecode(b"latin-\xe9.png"),
        "# comment.png",
        '"quoted".png',
        " space.png",
        "{{ 7*7 }}.png",
    ),
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Each hostile name in two classes with the same picture: an error that names both."""
    data = tmp_path / "data"
    for i, name in enumerate(HOSTILE):
        for label in ("a", "b"):
            path = data / label / name.replace("/", "_")
            save(path, picture(i), format="PNG")
        (data / "a" / f"broken {name.replace('/', '_')}").write_bytes(b"")
    return data


def _said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = 0
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


class _Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_text_is_plain_whatever_the_names(hostile: Path) -> None:
    text = str(check(str(hostile)))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    text.encode("utf-8")
    assert "same picture in two classes (label-conflict): 10" in text
    assert "and 7 more" in text


def test_the_page_escapes_and_loads_nothing(hostile: Path, tmp_path: Path) -> None:
    check(str(hostile), page=tmp_path / "check.html")
    text = (tmp_path / "check.html").read_text(encoding="utf-8")
    tags = _Tags()
    tags.feed(text)
    names = [tag for tag, _ in tags.tags]
    assert "script" not in names
    assert not [found for _, found in tags.tags if any(name.startswith("on") for name in found)]
    sources = [str(found["src"]) for tag, found in tags.tags if tag == "img"]
    assert len(sources) == 2 * len(HOSTILE)
    assert all(re.fullmatch(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]+", source) for source in sources)
    assert "default-src 'none'" in html.unescape(text)
    for name in HOSTILE:
        assert shown(f"b/{name.replace('/', '_')}") in html.unescape(text)
    assert "\u202e" not in text


def test_a_page_of_nothing_found(tmp_path: Path) -> None:
    museum.sound(tmp_path / "data")
    found = check(str(tmp_path / "data"), page=tmp_path / "check.html")
    assert "Nothing was found" in (tmp_path / "check.html").read_text(encoding="utf-8")
    assert str(found).endswith(f"the page is {tmp_path / 'check.html'}")


def test_json_has_everything(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(capsys, "check", hostile, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    keys = {one["file"] for one in found["findings"] if one["kind"] == "label-conflict"}
    assert keys == {f"b/{name.replace('/', '_')}" for name in HOSTILE}
    assert found["errors"] == 2 * len(HOSTILE)
    assert found["leave_out"] == sorted(f"a/broken {name.replace('/', '_')}" for name in HOSTILE)


def test_strict_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    museum.sound(tmp_path)
    assert _said(capsys, "check", tmp_path, "--strict")[0] == 0
    (tmp_path / "train" / "cat" / "bad.png").write_bytes(b"")
    code, out, err = _said(capsys, "check", tmp_path, "--strict")
    assert code == 1
    assert "has no bytes (empty): 1" in out
    assert err == ""
    assert _said(capsys, "check", tmp_path)[0] == 0


def test_the_list_holds_every_name(hostile: Path, tmp_path: Path) -> None:
    found = check(str(hostile), quarantine=tmp_path / "bad.txt")
    text = (tmp_path / "bad.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[1] == f"# vitlab check {hostile} --quarantine {tmp_path / 'bad.txt'}"
    assert len(lines) == 2 + len(HOSTILE)
    assert read_quarantine(tmp_path / "bad.txt") == frozenset(found.leave_out)
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


def test_any_name_goes_both_ways(tmp_path: Path) -> None:
    keys = {*HOSTILE, "plain/a b.png", "ü/猫.png", '"', "#", " ", "\r", "a\r", "\u2028", "tab\t"}
    write_quarantine(tmp_path / "list", keys, "vitlab check 'two\nlines'")
    assert read_quarantine(tmp_path / "list") == keys
    (tmp_path / "windows").write_bytes(b"# comment\r\n\r\na/b.png\r\n")
    assert read_quarantine(tmp_path / "windows") == {"a/b.png"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'a\n"half\n', "broken name in line 2"),
        (b'"a" b\n', "broken name in line 1"),
        (b"\xff\xfe\n", "is not UTF-8 text"),
    ],
)
def test_a_list_that_is_none(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(UserError, match=said):
        read_quarantine(tmp_path / "list")
    with pytest.raises(UserError, match="cannot read"):
        read_quarantine(tmp_path / "nope")


def test_leaving_out_keeps_order_and_refuses_an_empty_class() -> None:
    keys = tuple(f"k{i}" for i in range(6))
    train = Samples(keys, (0, 1, 0, 1, 0, 1), lambda i: [keys[i]])  # type: ignore[arg-type, return-value]
    source = Source("made", ("a", "b"), {"train": train, "test": train.at([0, 1])})
    kept = without(source, {"k0", "k1", "k5", "unknown"})
    assert kept.splits["train"].keys == ("k2", "k3", "k4")
    assert kept.splits["train"].labels == (0, 1, 0)
    assert [kept.splits["train"].read(i) for i in range(3)] == [["k2"], ["k3"], ["k4"]]
    assert set(kept.splits) == {"train"}  # nothing of the test is left
    with pytest.raises(UserError, match="nothing is left of the class 'b'"):
        without(source, {"k1", "k3", "k5"})


@pytest.mark.parametrize("flag", ["--page", "--quarantine"])
def test_where_nothing_can_be_written(flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before an image is opened."""
    (tmp_path / "folder").mkdir()
    for place, said in ((tmp_path / "folder", "is a folder"), (tmp_path / "no" / "a", "there is no folder")):
        code, out, err = _said(capsys, "check", "digits", flag, place)
        assert (code, out) == (2, "")
        assert said in err


def test_it_is_a_public_function_that_imports_nothing_heavy() -> None:
    assert vitlab.check is check
    code = (
        "import sys, vitlab.commands.check; print([m for m in ('torch', 'numpy', 'PIL', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_checking_needs_no_torch(tmp_path: Path) -> None:
    """A check starts fast."""
    museum.sound(tmp_path)
    code = f"import sys, vitlab; vitlab.check({str(tmp_path)!r}); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
