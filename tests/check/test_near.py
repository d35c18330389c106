"""Pictures that are nearly the same are found, and others are not: on made sets, against all pairs compared."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from tests.check.museum import picture, save
from vitlab.commands.check import check
from vitlab.data.checks import near
from vitlab.data.checks.copies import Seen
from vitlab.data.checks.sight import HASH_BYTES, see
from vitlab.data.decode import Picture

CHANGES = {
    "turned": lambda image: image.rotate(0.5, Image.Resampling.BICUBIC),
    "turned-back": lambda image: image.rotate(-0.5, Image.Resampling.BICUBIC),
    "saved-again": lambda image: _saved(image, 50),
    "lighter": lambda image: ImageEnhance.Brightness(image).enhance(1.08),
    "darker": lambda image: ImageEnhance.Brightness(image).enhance(0.9),
    "smaller": lambda image: image.resize((80, 66), Image.Resampling.LANCZOS),
    "sharper": lambda image: ImageEnhance.Sharpness(image).enhance(2),
}


def _saved(image: Image.Image, quality: int) -> Image.Image:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=quality)
    return Image.open(io.BytesIO(held.getvalue()))


@pytest.mark.parametrize("change", CHANGES)
def test_recall_and_precision(change: str, tmp_path: Path) -> None:
    """Forty pictures and forty others, one of each first ones changed: every pair is found, no other."""
    for i in range(40):
        image = picture(2000 + i, (120, 100))
        save(tmp_path / "cat" / f"{i:02d}-a.png", image)
        save(tmp_path / "cat" / f"{i:02d}-b.png", CHANGES[change](image))
        save(tmp_path / "dog" / f"{i:02d}-c.png", picture(3000 + i, (120, 100)))
    found = [one for one in check(str(tmp_path)).findings if one.kind.startswith("near")]
    right = {(f"cat/{i:02d}-b.png", f"cat/{i:02d}-a.png") for i in range(40)}
    pairs = {(one.key, one.other) for one in found}
    assert pairs <= right
    assert len(pairs) >= 39


def test_candidates_are_those_of_all_pairs() -> None:
    """Against every pair compared, for distances of up to 15 of 128 bits."""
    rng = np.random.default_rng(0)
    hashes = [rng.bytes(HASH_BYTES) for _ in range(300)]
    for i in range(120):
        bits = np.unpackbits(np.frombuffer(hashes[i], np.uint8))
        bits[rng.choice(128, i % 20, replace=False)] ^= 1
        hashes.append(np.packbits(bits).tobytes())
    whole = [int.from_bytes(one, "big") for one in hashes]
    naive = {
        (a, b, (whole[a] ^ whole[b]).bit_count())
        for a in range(len(whole))
        for b in range(a + 1, len(whole))
        if (whole[a] ^ whole[b]).bit_count() <= near.DISTANCE
    }
    assert len(naive) >= 90
    assert set(near.candidates(hashes)) == naive


def test_ten_thousand_frames_of_one_film_take_no_forever() -> None:
    """All alike: the work stays in proportion to their number."""
    hashes: list[bytes | None] = [bytes(14) + i.to_bytes(2, "big") for i in range(10_000)]
    assert len(near.candidates(hashes)) <= 10_000 * near.NEIGHBOURS * HASH_BYTES


def test_the_partner_in_another_split_is_named_first() -> None:
    image = picture(1, (96, 96))
    shown: dict[str, Picture] = {
        "train/a": image,
        "train/b": _saved(image, 80),
        "test/c": _saved(image, 60),
    }
    seen = []
    for key, each in shown.items():
        sight = see(each)
        seen.append(Seen(key, key.partition("/")[0], "x", sight.digest, sight.difference))
    with ThreadPoolExecutor(1) as pool:
        found = list(near.near(seen, shown.__getitem__, pool))
    assert sorted((one.kind, one.key, one.other) for one in found) == [
        ("near-leak", "train/a", "test/c"),
        ("near-leak", "train/b", "test/c"),
    ]


def test_drawings_on_an_empty_page_are_not_compared(tmp_path: Path) -> None:
    """Strokes of a pen look alike without being the same."""
    for name in ("one", "seven"):
        for i in range(6):
            page = np.zeros((64, 64), np.uint8)
            page[8:56, 30 + i // 3 : 34] = 255 - i * (1 if name == "one" else 3)
            save(tmp_path / name / f"{i}.png", Image.fromarray(page))
    assert not [one for one in check(str(tmp_path)).findings if one.kind.startswith("near")]
