"""One image file opened: what its header says, what `decode` says, and the picture's hashes."""

import io
from dataclasses import dataclass

from PIL import Image, UnidentifiedImageError

from vitlab.data.checks import signature
from vitlab.data.checks.finding import Finding
from vitlab.data.checks.held import Held
from vitlab.data.checks.sight import Sight, see
from vitlab.data.decode import MAX_PIXELS, Picture
from vitlab.errors import UserError

_LARGEST_JPEG = 1 << 26  # bytes: the end of a larger one is not looked for
_TURNED = 0x0112  # the EXIF tag of orientation
_SIDEWAYS = range(2, 9)


@dataclass(frozen=True)
class Looked:
    """What was found in a file, and what was seen of its picture if there is one."""

    findings: tuple[Finding, ...]
    sight: Sight | None = None


def look(key: str, held: Held) -> Looked:
    """Open and decode one file fully, as training does."""
    try:
        with held.open() as handle:
            head = handle.read(signature.HEAD)
    except OSError as error:
        return Looked((_left_out("unreadable", key, f"cannot be read: {error.strerror or error}"),))
    if not head:
        return Looked((_left_out("empty", key, "has no bytes"),))
    said = _header(held)
    try:
        picture = held.decode()
    except UserError as error:
        return Looked((_refusal(key, held, head, error),))
    sight = see(picture)
    if (found := signature.image_format(head)) == "JPEG" and _cut(held):
        said.append(("damaged", "lacks the mark of its end; its lower part may be grey or garbage"))
    fitting = signature.SUFFIXES.get(found)
    if found and held.suffix and (fitting is None or held.suffix.lower() not in fitting):
        said.append(("wrong-suffix", f"is {found}, though its name ends in {held.suffix}"))
    return Looked(tuple(Finding(kind, key, sentence) for kind, sentence in [*said, *sight.said]), sight)


def look_at(key: str, picture: Picture) -> Looked:
    """The same for a picture that comes without a file."""
    sight = see(picture)
    return Looked(tuple(Finding(kind, key, sentence) for kind, sentence in sight.said), sight)


def _header(held: Held) -> list[tuple[str, str]]:
    """What is handled, by what the file says of itself; nothing of a file that `decode` is about to refuse."""
    try:
        with held.open() as handle, Image.open(handle) as image:
            if image.width * image.height > MAX_PIXELS:
                return []
            said = list(_modes(image))
            turned = image.getexif().get(_TURNED)
            if turned in _SIDEWAYS:
                said.append(("rotated", f"is turned upright by its EXIF tag ({turned})"))
            if getattr(image, "is_animated", False):
                frames = getattr(image, "n_frames", 2)
                said.append(("frames", f"holds {frames} pictures; the first is used"))
            return said
    except Exception:  # whatever a decoder raises: decode says it in a sentence
        return []


def _modes(image: Image.Image) -> list[tuple[str, str]]:
    said = []
    raw = " ".join(
        str(part)
        for tile in getattr(image, "tile", [])[:1]
        for part in (tile[3] if isinstance(tile[3], tuple) else tile[3:])
    )
    if image.mode in ("CMYK", "YCCK"):
        said.append(("cmyk", "has printing colours (CMYK), which are turned to RGB"))
    if image.mode.startswith("I") or ";16" in raw:
        said.append(("16-bit", "has more than 8 bits a channel, which are scaled to 8"))
    if image.mode in ("P", "PA"):
        said.append(("palette", "has a palette, which is turned to colours"))
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        said.append(("alpha", "has transparency, which is laid on white"))
    if image.mode == "1":
        said.append(("1-bit", "is black and white, without greys"))
    return said


def _refusal(key: str, held: Held, head: bytes, error: UserError) -> Finding:
    """Why `decode` refused, by what it had met."""
    met = error.__context__
    other = signature.other_format(head)
    if isinstance(met, OSError) and met.errno is not None:
        return _left_out("unreadable", key, f"cannot be read: {met.strerror or met}")
    if isinstance(met, Image.DecompressionBombError):
        return _left_out("huge", key, f"has more than {MAX_PIXELS:,} pixels, which are not decoded; scale it down")
    if found := _unsupported(head, other):
        return _left_out("unsupported", key, f"is {found}{_though(held)}; convert it")
    if met is None:
        return _left_out("pixels", key, str(error).removeprefix(f"{held.name} "))
    known = signature.image_format(head)
    if isinstance(met, UnidentifiedImageError) and not known:
        kind = other or ("a text" if signature.is_text(head) else "no image that is known")
        return _left_out("not-an-image", key, f"is {kind}{_though(held)}")
    reason = " ".join(str(met).split()).rstrip(".") or type(met).__name__
    if "truncat" in reason.lower() or isinstance(met, EOFError) or _ends_early(held, known):
        return _left_out("truncated", key, f"ends before the picture does; copy or fetch it again ({known})")
    reason = "its header cannot be read" if isinstance(met, UnidentifiedImageError) else reason
    return _left_out("broken", key, f"cannot be decoded ({reason.replace(held.name, 'it')})")


def _though(held: Held) -> str:
    return f", though its name ends in {held.suffix}" if held.suffix else ""


def _unsupported(head: bytes, other: str) -> str:
    """A format of pictures, films or documents; a page of HTML or a pointer is a failed download instead."""
    known = signature.image_format(head)
    if known and known not in signature.SUFFIXES:
        return f"{known}, which is not decoded here"
    return "" if other.startswith(("an HTML", "a pointer", "a database")) else other


def _ends_early(held: Held, known: str) -> bool:
    """Whether a PNG or JPEG lacks the mark of its end, a WEBP, GIF or BMP the bytes it speaks of."""
    with held.open() as handle:
        head = handle.read(12)
        size = handle.seek(0, io.SEEK_END)
        handle.seek(max(size - 64, 0))
        tail = handle.read()
    if known == "PNG":
        return b"IEND" not in tail
    if known == "JPEG":
        return b"\xff\xd9" not in tail
    if known == "GIF":
        return not tail.rstrip(b"\0").endswith(b";")
    length = {"WEBP": int.from_bytes(head[4:8], "little") + 8, "BMP": int.from_bytes(head[2:6], "little")}
    return known in length and size < length[known]


def _cut(held: Held) -> bool:
    """Whether a JPEG that was decoded has no end after its last scan: libjpeg makes up what is missing."""
    with held.open() as handle:
        content = handle.read(_LARGEST_JPEG + 1)
    if len(content) > _LARGEST_JPEG:
        return False
    return content.rfind(b"\xff\xd9") < content.rfind(b"\xff\xda")


def _left_out(kind: str, key: str, sentence: str) -> Finding:
    return Finding(kind, key, sentence, leave_out=True)
