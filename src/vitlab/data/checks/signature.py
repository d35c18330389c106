"""What a file is by its first bytes, whatever its name says.

Nothing is decoded: this is how a PDF, a film or the page of an error that was saved as `cat.jpg` is called by its name.
"""

HEAD = 1024  # bytes that are enough for every signature here

# Formats that `decode` reads, with the suffixes that people give them, the usual one first.
SUFFIXES = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm"),
}

_IMAGES = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"8BPS", "Photoshop"),
    (b"qoif", "QOI"),
)
_OTHERS = (
    (b"%PDF", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x1aE\xdf\xa3", "a film (Matroska or WebM)"),
    (b"\0\0\x01\xba", "a film (MPEG)"),
    (b"\0\0\x01\xb3", "a film (MPEG)"),
    (b"FLV", "a film (Flash)"),
    (b"OggS", "a film or sound (Ogg)"),
    (b"ID3", "a sound (MP3)"),
    (b"SQLite format 3", "a database"),
    (b"version https://git-lfs", "a pointer that Git LFS has left in place of the file"),
)
# By the four letters after "ftyp" of an ISO media file.
_BRANDS = {b"avif": "AVIF", b"avis": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"hevc": "HEIC", b"mif1": "HEIC"}


def image_format(head: bytes) -> str:
    """The image format that the bytes begin like, nothing for none."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp" and head[8:12] in _BRANDS:
        return _BRANDS[head[8:12]]
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "BMP"
    if head[:2] in (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6") and head[2:3].isspace():
        return "PPM"
    return next((name for start, name in _IMAGES if head.startswith(start)), "")


def other_format(head: bytes) -> str:
    """What else the bytes begin like, as the end of "it is ..."; nothing when nobody knows."""
    if found := next((name for start, name in _OTHERS if head.startswith(start)), ""):
        return found
    if head[4:8] == b"ftyp":
        return "a film (MP4)"
    if head[:4] == b"RIFF" and head[8:12] in (b"AVI ", b"WAVE"):
        return "a film (AVI)" if head[8:12] == b"AVI " else "a sound (WAV)"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"<svg" in start and start.startswith((b"<svg", b"<?xml", b"<!--", b"<!doctype svg")):
        return "an SVG drawing"
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page, as a failed download leaves it"
    return ""


def is_text(head: bytes) -> bool:
    """Whether the bytes are words."""
    try:
        text = head[:-4].decode("utf-8") if len(head) == HEAD else head.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text) and all(letter.isprintable() or letter.isspace() for letter in text)
