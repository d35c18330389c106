"""Images that are none and data of other classes: one sentence that names the file or the classes."""

import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vitlab
from tests.commands.conftest import Said, paint
from vitlab.commands.run import Run

Refused = Callable[..., str]


def _claiming(side: int) -> bytes:
    """A PNG whose header promises side x side pixels, and has none."""
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"\0" * 100)
    chunks = b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in (header, body, b"IEND")
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize(
    ("name", "content"),
    [("text.png", b"not an image\n"), ("nothing.png", b""), ("random.jpg", bytes(range(256)) * 8)],
)
def test_no_image(here: Path, refused: Refused, trained: Run, name: str, content: bytes) -> None:
    paint(here / "good.png")
    (here / name).write_bytes(content)
    sentence = f"{name} is no image that can be decoded; remove it or give another file"
    assert refused("predict", trained.folder, "good.png", name) == sentence


@pytest.mark.parametrize("suffix", ["png", "jpg"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_image(here: Path, refused: Refused, trained: Run, suffix: str, share: float) -> None:
    whole = paint(here / f"cut.{suffix}", size=(64, 64)).read_bytes()
    (here / f"cut.{suffix}").write_bytes(whole[: int(share * len(whole))])
    sentence = refused("predict", trained.folder, f"cut.{suffix}")
    assert sentence.startswith(f"cut.{suffix} is ")
    assert sentence.endswith("; remove it or give another file")


@pytest.mark.parametrize("side", [12_000, 100_000])
def test_a_decompression_bomb(here: Path, refused: Refused, trained: Run, side: int) -> None:
    (here / "bomb.png").write_bytes(_claiming(side))
    assert refused("predict", trained.folder, "bomb.png") == (
        "bomb.png has more than 134,217,728 pixels, which are not decoded; scale it down"
    )


def test_pixels_of_floating_point(here: Path, refused: Refused, trained: Run) -> None:
    Image.fromarray(np.zeros((8, 8), np.float32)).save(here / "heat.tif")
    sentence = refused("predict", trained.folder, "heat.tif")
    assert sentence == "heat.tif has pixels in floating point; save it as grey or RGB of 8 or 16 bits"


def test_images_that_are_not_there(here: Path, refused: Refused, trained: Run) -> None:
    (here / "empty").mkdir()
    assert refused("predict", trained.folder, "nope.png") == "no such image or folder: nope.png"
    assert refused("predict", trained.folder, "empty") == "no images in empty"
    assert refused("predict", trained.folder) == "no images named; give files or folders after the run"
    assert refused("predict", trained.folder, "empty", "--top", "0") == "--top wants at least 1, not 0"


def test_a_broken_image_among_the_data_is_left_out_and_named(pets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pets / "dog" / "7.png").write_bytes(b"no")
    vitlab.train("pets", epochs=1, precision="float32", threads=1, out=Path("run"))
    assert capsys.readouterr().err.count("pets/dog/7.png is no image that can be decoded") == 1
    left = json.loads(Path("run/bundle/model.json").read_text())["data"]
    assert sum(left[split] for split in ("train", "val", "test")) == sum(1 for _ in pets.rglob("*.png")) - 1


def test_mostly_broken_images_stop_the_run(pets: Path, refused: Refused) -> None:
    for file in (pets / "dog").iterdir():
        file.write_bytes(b"no")
    sentence = refused("train", "pets", "--precision", "float32")
    assert "images cannot be used, the first because pets/dog/" in sentence
    assert not Path("runs").exists()


def test_data_of_other_classes(pets: Path, refused: Refused, trained: Run) -> None:
    assert refused("evaluate", trained.folder, "pets") == (
        "pets has the classes cat, dog, the model knows 0, 1, 2, 3, 4 and 5 more; "
        "give data with the same classes in the same order"
    )


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("pets", "the data of the training, 'pets', are not here; name the data to evaluate on"),
        (None, "the bundle does not say which data it was trained on; name the data to evaluate on"),
    ],
)
def test_the_data_of_the_training_are_gone(
    here: Path, refused: Refused, trained: Run, source: str | None, sentence: str
) -> None:
    shutil.copytree(trained.folder / "bundle", here / "moved")
    card = json.loads((here / "moved" / "model.json").read_text())
    card["data"] = {"source": source} if source else {}
    (here / "moved" / "model.json").write_text(json.dumps(card))
    assert refused("evaluate", "moved") == sentence


def test_a_prediction_is_a_line_a_file(here: Path, say: Callable[..., Said], trained: Run) -> None:
    for name in ("one.png", "two.png"):
        paint(here / name)
    said = say("predict", trained.folder, "one.png", "two.png", "--top", "2")
    assert said.code == 0
    assert said.err == ""
    assert [line.split()[0] for line in said.out.splitlines()] == ["one.png", "two.png"]
    assert all(line.count("%") == 2 for line in said.out.splitlines())
