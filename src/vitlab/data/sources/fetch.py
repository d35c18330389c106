"""A published file fetched: with progress, resumed where it broke off, checked, and only then given its name.

What has come lies in a `.part` file beside, which the next try goes on from; it becomes the file when its length and
checksums are those published, and is deleted when they are not. Only published hosts are asked, redirections included.
"""

import contextlib
import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from vitlab.data.sources.published import Download
from vitlab.errors import UserError
from vitlab.files import saying_why

TIMEOUT = 30.0  # seconds without a byte, and the window in which SLOWEST is asked for
SLOWEST = 1024  # bytes a second below which an answer counts as stalled
TURNS = 3  # times that every address is tried in vain
WORTH = 0.01  # of the file has to come for a turn not to be in vain
PAUSE = 2.0  # seconds before the next turn
CHUNK = 1 << 18
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers that may be better in a while

Progress = Callable[[int], None]


class _BrokenError(Exception):
    """An answer that gave nothing more; another try may do better."""


class _RefusedError(_BrokenError):
    """An answer that will be the same next time."""


class _NoResumingError(_BrokenError):
    """An answer that does not go on where the part ends, which is given up."""


def fetch(download: Download, path: Path) -> None:
    """Bring `download` to `path`, unless it is there."""
    part = path.with_name(path.name + ".part")
    with saying_why(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(part, path) as handle:
            if handle is None:
                return
            _check_room(download, part, handle)
            with _progress(download) as progress:
                _complete(download, handle, part, progress)
            _verify(download, handle, part)
            os.fsync(handle.fileno())
            part.replace(path)


@contextlib.contextmanager
def _alone(part: Path, path: Path) -> Iterator[BinaryIO | None]:
    """The part file, held by this process alone; None when another one has brought the file meanwhile."""
    while not path.exists():
        with part.open("a+b") as handle:
            _lock(handle)
            if _is(handle, part):
                yield handle
                return
    yield None


def _is(handle: BinaryIO, part: Path) -> bool:
    """Whether the open file still is the one of that name: it may have been renamed or deleted while we waited."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), part.stat())
    except FileNotFoundError:
        return False


def _lock(handle: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # a system without locks: two processes that fetch at once are told of a wrong checksum
        return
    with contextlib.suppress(OSError):  # some network file systems have no locks
        fcntl.flock(handle, fcntl.LOCK_EX)


def _check_room(download: Download, part: Path, handle: BinaryIO) -> None:
    need, free = download.size - handle.seek(0, os.SEEK_END), shutil.disk_usage(part.parent).free
    if need > free:
        raise UserError(
            f"{download.name} needs {need / 1e6:,.1f} MB more and {part.parent} has {free / 1e6:,.1f} MB left; "
            "free some space or choose another folder"
        )


def _complete(download: Download, handle: BinaryIO, part: Path, progress: Progress) -> None:
    """Try the addresses in turn until the part has its length; what has come is never asked for again."""
    addresses, reasons = list(download.addresses), dict[str, str]()
    turn = most = 0
    while addresses and turn < TURNS:
        if turn:
            time.sleep(PAUSE)
        for address in tuple(addresses):
            try:
                _continue(address, download, handle, progress)
                return
            except _BrokenError as broken:
                reasons[urlsplit(address).netloc] = str(broken)
                if isinstance(broken, _NoResumingError):
                    handle.truncate(0)
                if isinstance(broken, _RefusedError):
                    addresses.remove(address)
        have = handle.seek(0, os.SEEK_END)
        # Further than ever, or what is lost and comes again would be tried for ever.
        turn, most = (1, have) if have > most + WORTH * download.size else (turn + 1, most)
    have = handle.seek(0, os.SEEK_END)
    if not have:
        part.unlink()
    came = f"{have / 1e6:,.1f} of {download.size / 1e6:,.1f} MB have come and are kept: " if have else ""
    told = "; ".join(f"{host}: {reason}" for host, reason in reasons.items())
    raise UserError(
        f"could not fetch {download.name} ({told}); {came}try again later, or put the file into {part.parent} yourself"
    )


def _continue(address: str, download: Download, handle: BinaryIO, progress: Progress) -> None:
    """Ask one address for what is missing and append it."""
    have = handle.seek(0, os.SEEK_END)
    if have > download.size:
        have = handle.truncate(0)
    progress(have)
    if have == download.size:
        return
    request = urllib.request.Request(address, headers={"User-Agent": "vitlab", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with _answer(request, download) as answer:
        whole = answer.status != http.client.PARTIAL_CONTENT
        if not whole and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
            raise _NoResumingError("it answered with another part of the file than was asked for")
        _check_length(answer, download, 0 if whole else have)
        if whole:  # even if only the rest was asked for: a server without resuming
            have = handle.truncate(0)
        for piece in _pieces(answer):
            have += len(piece)
            if have > download.size:
                handle.truncate(0)
                raise _RefusedError(f"it sends more than the {download.size:,} bytes that are published")
            handle.write(piece)
            progress(have)
    if have < download.size:
        raise _BrokenError(f"the connection ended after {have / 1e6:,.1f} MB")


@contextlib.contextmanager
def _answer(request: urllib.request.Request, download: Download) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request, from one of the published hosts, over HTTP alone."""
    opener = urllib.request.OpenerDirector()  # build_opener's would open file: and ftp: too
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _KnownHosts(download),
    ):
        opener.add_handler(handler)
    try:
        answer = opener.open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        kind = _NoResumingError if error.code == 416 else _BrokenError if error.code in _PASSING else _RefusedError
        raise kind(f"it answered {error.code} {http.client.responses.get(error.code, '')}".rstrip()) from None
    except urllib.error.URLError as error:
        raise _BrokenError(_reason(error.reason)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _BrokenError(_reason(error)) from None
    assert isinstance(answer, http.client.HTTPResponse)
    with answer:
        yield answer


class _KnownHosts(urllib.request.HTTPRedirectHandler):
    """Follows a redirection to a published host alone."""

    def __init__(self, download: Download) -> None:
        known = [urlsplit(address) for address in download.addresses]
        self.known = {(scheme, one.netloc) for one in known for scheme in (one.scheme, "https")}

    def redirect_request(self, *args: object) -> urllib.request.Request | None:
        target = urlsplit(str(args[-1]))
        if (target.scheme, target.netloc) not in self.known:
            raise _RefusedError(f"it redirects to {target.scheme}://{target.netloc}, which is no published host")
        return super().redirect_request(*args)  # type: ignore[arg-type]


def _check_length(answer: http.client.HTTPResponse, download: Download, have: int) -> None:
    """Refuse at once an answer that says that it is of another length than the file."""
    length = answer.headers.get("Content-Length") or ""
    if length.isdecimal() and have + int(length) != download.size:
        raise _RefusedError(f"it offers {have + int(length):,} bytes where {download.size:,} are published")


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """What comes, as it comes; an answer that trickles is given up."""
    start, came = time.monotonic(), 0
    while True:
        try:
            piece = answer.read1(CHUNK)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _BrokenError(_reason(error)) from None
        if not piece:
            return
        came += len(piece)
        yield piece
        if (passed := time.monotonic() - start) > TIMEOUT:
            if came < SLOWEST * passed:
                raise _BrokenError(f"it sends less than {SLOWEST:,} bytes a second")
            start, came = time.monotonic(), 0


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came for {TIMEOUT:g} seconds"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


def _verify(download: Download, handle: BinaryIO, part: Path) -> None:
    """Delete what is not the published file, and say so."""
    handle.flush()
    sums = {kind: hashlib.new(kind, usedforsecurity=False) for kind in download.sums}
    handle.seek(0)
    while piece := handle.read(CHUNK):
        for digest in sums.values():
            digest.update(piece)
    for kind, digest in sums.items():
        if digest.hexdigest() != download.sums[kind]:
            part.unlink()
            raise UserError(
                f"what was fetched as {download.name} has the {kind.upper()} {digest.hexdigest()}, published is "
                f"{download.sums[kind]}; it was deleted: try again, or put the file into {part.parent} yourself"
            )


@contextlib.contextmanager
def _progress(download: Download) -> Iterator[Progress]:
    """A bar on standard error where that is a terminal, else a line at the start."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not console.is_terminal:
        console.print(f"fetching {download.name}, {download.size / 1e6:,.1f} MB", markup=False)
        yield lambda have: None
        return
    name, speed = TextColumn("{task.description}"), TransferSpeedColumn()
    columns = (name, BarColumn(24), DownloadColumn(), speed, TimeRemainingColumn())
    with Bar(*columns, console=console, refresh_per_second=4) as bar:
        task = bar.add_task(download.name, total=download.size)
        yield lambda have: bar.update(task, completed=have)
