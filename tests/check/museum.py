"""A museum of bad and odd input: files, links and names that have spoiled trainings, each with what is to be found.

`build(folder)` makes data that train nevertheless: train, val and test, with enough sound images in each class.
Whatever is odd about a layout, so that training refuses it, stands in `test_layouts`. It reaches out of the folder by
links to one beside it, `outside-NAME`.
"""

import io
import os
import random
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

CLASSES = ("cat", "dog", "fish")
SOUND = {"train": 30, "val": 4, "test": 5}
_SIZE = (48, 40)


@dataclass(frozen=True)
class Exhibit:
    """One finding that has to be made: its kind, the file, and the other file where there is one."""

    kind: str
    key: str
    other: str | None = None


def picture(seed: int, size: tuple[int, int] = _SIZE) -> Image.Image:
    """A picture like no other: coarse shapes, with finer grain on them."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
    grain = Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
    return Image.blend(coarse, grain, 0.3)


def save(path: Path, image: Image.Image, **how: object) -> None:
    """Save it, with the folders above."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **how)


def sound(folder: Path) -> None:
    """Data with nothing odd about them."""
    seed = 0
    for split, count in SOUND.items():
        for name in CLASSES:
            for i in range(count):
                seed += 1
                save(folder / split / name / f"{name}-{i:02d}.jpg", picture(seed), quality=90)


def build(folder: Path) -> list[Exhibit]:
    """The museum in an empty folder, and what has to be found in it."""
    sound(folder)
    found: list[Exhibit] = []
    for room in (_undecodable, _misnamed, _handled, _shapes, _copies, _classes, _names, _elsewhere, _links):
        found += room(folder)
    return found


def _undecodable(folder: Path) -> list[Exhibit]:
    """Files that training has to leave out."""
    top = folder / "train" / "cat"
    jpeg, png = _bytes(picture(1000), "JPEG"), _bytes(picture(1001), "PNG")
    gif, webp = _bytes(picture(1002), "GIF"), _bytes(picture(1003), "WEBP")
    bmp, tiff = _bytes(picture(1004), "BMP"), _bytes(picture(1005), "TIFF")
    rng = random.Random(0)
    contents = {
        "empty.jpg": ("empty", b""),
        "cut.jpg": ("truncated", jpeg[: len(jpeg) // 2]),
        "cut-in-header.jpg": ("truncated", jpeg[:100]),
        "cut.png": ("truncated", png[: len(png) // 2]),
        "cut.webp": ("truncated", webp[: len(webp) // 2]),
        "cut.bmp": ("truncated", bmp[: len(bmp) // 2]),
        "cut.gif": ("truncated", gif[: len(gif) // 2]),
        "cut.tif": ("truncated", tiff[: len(tiff) // 2]),
        "checksum.png": ("broken", _damaged(png)),
        "text.jpg": ("not-an-image", b"this is no picture\n"),
        "noise.png": ("not-an-image", rng.randbytes(3000)),
        "zeros.jpg": ("not-an-image", bytes(2000)),
        "page.jpg": ("not-an-image", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"),
        "pointer.jpg": ("not-an-image", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"),
        "drawing.png": ("unsupported", b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>'),
        "document.jpg": ("unsupported", b"%PDF-1.7\n1 0 obj\n"),
        "film.jpg": ("unsupported", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(100)),
        "phone.jpg": ("unsupported", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100)),
        "archive.jpg": ("unsupported", b"PK\x03\x04" + bytes(60)),
        "bomb.png": ("huge", _bomb()),
    }
    for name, (_, content) in contents.items():
        (top / name).write_bytes(content)
    save(top / "float.tif", Image.fromarray(np.random.default_rng(1).random((20, 20), dtype=np.float32)))
    os.mkfifo(top / "pipe.jpg")
    made = {**{name: kind for name, (kind, _) in contents.items()}, "float.tif": "pixels", "pipe.jpg": "special"}
    return [Exhibit(kind, f"train/cat/{name}") for name, kind in made.items()]


def _misnamed(folder: Path) -> list[Exhibit]:
    """Images under another format's name, and others that no training sees."""
    top = folder / "train" / "dog"
    (top / "a-png.jpg").write_bytes(_bytes(picture(1100), "PNG"))
    (top / "a-jpeg.png").write_bytes(_bytes(picture(1101), "JPEG"))
    (top / "an-avif.jpg").write_bytes(_bytes(picture(1102), "AVIF"))
    (top / "no-suffix").write_bytes(_bytes(picture(1103), "JPEG"))
    (top / "picture.jfif").write_bytes(_bytes(picture(1104), "JPEG"))
    (top / "logo.svg").write_text('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')
    (top / "manual.pdf").write_bytes(b"%PDF-1.4\n")
    (top / "clip.mp4").write_bytes(b"\0\0\0\x18ftypisom\0\0\0\0" + bytes(50))
    (top / "Thumbs.db").write_bytes(bytes(64))
    (top / "labels.csv").write_text("path,label\n")
    kinds = {
        **dict.fromkeys(("a-png.jpg", "a-jpeg.png", "an-avif.jpg"), "wrong-suffix"),
        **dict.fromkeys(("no-suffix", "picture.jfif"), "ignored-image"),
        **dict.fromkeys(("logo.svg", "manual.pdf", "clip.mp4"), "other-format"),
        **dict.fromkeys(("Thumbs.db", "labels.csv"), "other-file"),
    }
    return [Exhibit(kind, f"train/dog/{name}") for name, kind in kinds.items()]


def _handled(folder: Path) -> list[Exhibit]:
    """Kinds of pixels that are turned to what the model takes, and said."""
    top = folder / "train" / "fish"
    deep = np.random.default_rng(7).integers(0, 65536, (40, 48), dtype=np.uint16)
    turned = Image.Exif()
    turned[0x0112] = 6
    save(top / "print.jpg", picture(1200).convert("CMYK"))
    save(top / "print.tif", picture(1201).convert("CMYK"))
    save(top / "deep.png", Image.fromarray(deep))
    save(top / "deep.tif", Image.fromarray(deep[::-1].copy()))
    (top / "deep-colour.png").write_bytes(_png_16_bit())
    save(top / "palette.png", picture(1202).quantize(32))
    save(top / "clear.png", _clear(picture(1203)))
    save(top / "clear-grey.png", _clear(picture(1204)).convert("LA"))
    save(top / "clear-palette.gif", picture(1205).quantize(16), transparency=3)
    save(top / "sideways.jpg", picture(1206), exif=turned)
    save(top / "fax.tif", picture(1207).convert("1"))
    save(top / "moving.gif", picture(1208), save_all=True, append_images=[picture(1209), picture(1210)])
    save(top / "moving.webp", picture(1211), save_all=True, append_images=[picture(1212)])
    save(top / "moving.png", picture(1213), save_all=True, append_images=[picture(1214)])
    save(top / "pages.tif", picture(1215), save_all=True, append_images=[picture(1216)])
    half = _bytes(picture(1217), "JPEG").removesuffix(b"\xff\xd9")
    (top / "no-end.jpg").write_bytes(half + bytes(4000))
    kinds = {
        **dict.fromkeys(("print.jpg", "print.tif"), ("cmyk",)),
        **dict.fromkeys(("deep.png", "deep.tif", "deep-colour.png"), ("16-bit",)),
        **dict.fromkeys(("clear.png", "clear-grey.png"), ("alpha",)),
        **dict.fromkeys(("moving.webp", "moving.png", "pages.tif"), ("frames",)),
        "palette.png": ("palette",),
        "clear-palette.gif": ("palette", "alpha"),
        "moving.gif": ("palette", "frames"),
        "sideways.jpg": ("rotated",),
        "fax.tif": ("1-bit",),
        "no-end.jpg": ("damaged",),
    }
    return [Exhibit(kind, f"train/fish/{name}") for name, said in kinds.items() for kind in said]


def _shapes(folder: Path) -> list[Exhibit]:
    """Sizes and contents that teach little."""
    top = folder / "train" / "dog"
    save(top / "one-pixel.png", picture(1300, (1, 1)))
    save(top / "small.png", picture(1301, (7, 9)))
    save(top / "strip.png", picture(1302, (300, 20)))
    save(top / "tower.jpg", picture(1303, (20, 300)))
    save(top / "black.png", Image.new("RGB", _SIZE))
    save(top / "white.jpg", Image.new("L", _SIZE, 255))
    kinds = {
        "one-pixel.png": ("tiny", "uniform"),
        "small.png": ("tiny",),
        "strip.png": ("elongated",),
        "tower.jpg": ("elongated",),
        "black.png": ("uniform",),
        "white.jpg": ("uniform",),
    }
    return [Exhibit(kind, f"train/dog/{name}") for name, said in kinds.items() for kind in said]


def _copies(folder: Path) -> list[Exhibit]:
    """The same picture, or nearly, in a class, in two classes, in two splits."""
    train, test, val = folder / "train", folder / "test", folder / "val"
    twin, shared, torn = picture(1400), picture(1401), picture(1402)
    save(train / "cat" / "twin-a.png", twin)
    save(train / "cat" / "twin-b.png", twin)
    save(train / "cat" / "twin-c.bmp", twin)  # other bytes, the same pixels
    save(test / "dog" / "shared.png", shared)
    save(train / "dog" / "shared-too.png", shared)
    save(test / "cat" / "between.png", torn)
    save(val / "cat" / "between.png", torn)
    split = picture(1403)
    save(train / "cat" / "either.png", split)
    save(train / "dog" / "or.png", split)
    both = picture(1404)
    save(test / "cat" / "held.png", both)
    save(train / "fish" / "held-wrongly.png", both)
    near = picture(1405, (120, 100))
    save(train / "fish" / "near-a.png", near)
    save(train / "fish" / "near-b.jpg", near, quality=60)
    turned = picture(1406, (120, 100))
    save(test / "fish" / "upright.png", turned)
    save(train / "fish" / "turned.png", turned.rotate(0.5, Image.Resampling.BICUBIC))
    light = picture(1407, (120, 100))
    save(train / "cat" / "light-a.png", light)
    save(train / "dog" / "light-b.png", ImageEnhance.Brightness(light).enhance(0.92))
    return [
        Exhibit("duplicate", "train/cat/twin-b.png", "train/cat/twin-a.png"),
        Exhibit("duplicate", "train/cat/twin-c.bmp", "train/cat/twin-a.png"),
        Exhibit("leak", "train/dog/shared-too.png", "test/dog/shared.png"),
        Exhibit("leak", "val/cat/between.png", "test/cat/between.png"),
        Exhibit("label-conflict", "train/dog/or.png", "train/cat/either.png"),
        Exhibit("leak", "train/fish/held-wrongly.png", "test/cat/held.png"),
        Exhibit("label-conflict", "train/fish/held-wrongly.png", "test/cat/held.png"),
        Exhibit("near-duplicate", "train/fish/near-b.jpg", "train/fish/near-a.png"),
        Exhibit("near-leak", "train/fish/turned.png", "test/fish/upright.png"),
        Exhibit("near-conflict", "train/dog/light-b.png", "train/cat/light-a.png"),
    ]


def _classes(folder: Path) -> list[Exhibit]:
    """Classes of one image, of few, and missing from a split."""
    save(folder / "train" / "unicorn" / "only.png", picture(1500))
    for i in range(2):
        save(folder / "train" / "rare" / f"{i}.png", picture(1510 + i))
        save(folder / "val" / "rare" / f"{i}.png", picture(1520 + i))
        save(folder / "test" / "rare" / f"{i}.png", picture(1530 + i))
        save(folder / "train" / "Fish" / f"{i}.png", picture(1540 + i))
        save(folder / "val" / "Fish" / f"{i}.png", picture(1550 + i))
        save(folder / "test" / "Fish" / f"{i}.png", picture(1560 + i))
    (folder / "val" / "unicorn").mkdir()
    return [
        Exhibit("one-image", "train/unicorn"),
        Exhibit("empty-class", "val/unicorn"),
        Exhibit("class-missing", "train/unicorn"),
        Exhibit("class-case", "train/fish", "train/Fish"),
        Exhibit("imbalance", "train/Fish", "train/fish"),
    ]


def _names(folder: Path) -> list[Exhibit]:
    """Names that make trouble on another machine."""
    top = folder / "train" / "cat"
    odd = ["two\nlines.png", "bell\a.png", " space.png", "turned\u202egnp.png", os.fsdecode(b"latin-\xe9.png")]
    names = {
        **dict.fromkeys(odd, "odd-name"),
        **dict.fromkeys(("Kätzchen.png", "猫.png"), "non-ascii"),
        "<script>alert(1)<.png": "",
        "# no comment.png": "",
        '"quoted".png': "",
    }
    for i, name in enumerate(names):
        save(top / name, picture(1600 + i), format="PNG")
    save(top / "Same.png", picture(1650))
    save(top / "same.png", picture(1651))
    found = [Exhibit(kind, f"train/cat/{name}") for name, kind in names.items() if kind]
    return [*found, Exhibit("name-case", "train/cat/same.png", "train/cat/Same.png")]


def _elsewhere(folder: Path) -> list[Exhibit]:
    """Files and folders that are not where images belong."""
    save(folder / "train" / "loose.png", picture(1700))
    save(folder / "top.jpg", picture(1701))
    (folder / "README.md").write_text("about")
    save(folder / "extra" / "cat" / "a.png", picture(1702))
    (folder / "train" / "cat" / ".DS_Store").write_bytes(bytes(10))
    save(folder / "train" / "dog" / ".ipynb_checkpoints" / "a.png", picture(1703))
    save(folder / "train" / "dog" / "puppies" / "young.png", picture(1704))
    return [
        Exhibit("stray", "train/loose.png"),
        Exhibit("stray", "top.jpg"),
        Exhibit("other-file", "README.md"),
        Exhibit("stray-folder", "extra"),
        Exhibit("hidden", "train/cat/.DS_Store"),
        Exhibit("hidden", "train/dog/.ipynb_checkpoints"),
        Exhibit("nested", "train/dog/puppies"),
    ]


def _links(folder: Path) -> list[Exhibit]:
    """Links that lead in a circle, out of the folder or nowhere."""
    top, outside = folder / "train" / "fish", folder.parent / f"outside-{folder.name}"
    save(outside / "far.png", picture(1800))
    save(outside / "class" / "far.png", picture(1801))
    links: dict[str, tuple[str, Path | str]] = {
        "far.png": ("link-outside", outside / "far.png"),
        "far": ("link-outside", outside / "class"),
        "loop": ("link-loop", ".."),
        "itself.png": ("link-broken", "itself.png"),
        "gone.png": ("link-broken", "nothing-there.png"),
        "young": ("link", "../dog/puppies"),
    }
    for name, (_, target) in links.items():
        (top / name).symlink_to(target)
    (folder / "train" / "cat" / "linked.jpg").symlink_to("cat-00.jpg")
    return [
        *(Exhibit(kind, f"train/fish/{name}") for name, (kind, _) in links.items()),
        Exhibit("link", "train/cat/linked.jpg"),
        Exhibit("duplicate", "train/cat/linked.jpg", "train/cat/cat-00.jpg"),
    ]


def _bytes(image: Image.Image, kind: str) -> bytes:
    held = io.BytesIO()
    image.save(held, kind)
    return held.getvalue()


def _damaged(png: bytes) -> bytes:
    """A byte of the pixels changed, so that the checksum is wrong and the end is there."""
    place = png.index(b"IDAT") + 40
    return png[:place] + bytes([png[place] ^ 255]) + png[place + 1 :]


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _bomb() -> bytes:
    """A few bytes that claim 400 million pixels."""
    return _png(20_000, 20_000, 8, 0, bytes(100))


def _png_16_bit() -> bytes:
    """RGB with 16 bits a channel, which Pillow does not write."""
    grain = random.Random(16)
    return _png(40, 36, 16, 2, b"".join(b"\0" + grain.randbytes(40 * 6) for _ in range(36)))


def _clear(image: Image.Image) -> Image.Image:
    """The picture, clearer towards the right."""
    clear = image.convert("RGBA")
    across = np.tile(np.linspace(0, 255, image.width, dtype=np.uint8), (image.height, 1))
    clear.putalpha(Image.fromarray(across))
    return clear
