"""Fetching, against a server on this machine that breaks off, dawdles, lies and sends too much."""

import hashlib
import multiprocessing
import resource
import threading

import pytest

from tests.data_sources import server
from tests.data_sources.server import FILE, serving
from vitlab.data.sources import fetch as fetching
from vitlab.data.sources.fetch import fetch
from vitlab.data.sources.published import Download
from vitlab.errors import UserError

SUMS = {"sha256": hashlib.sha256(FILE).hexdigest(), "md5": hashlib.md5(FILE).hexdigest()}


@pytest.fixture(autouse=True)
def _hurried(monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.5)
    monkeypatch.setattr(fetching, "PAUSE", 0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def _download(*addresses, sums=SUMS):
    return Download("folder/file.bin", len(FILE), sums, addresses)


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _refused(tmp_path, *behaviours, **how):
    """The sentence, the ranges asked for, and what is left in the folder."""
    with serving(*behaviours) as (address, asked):
        with pytest.raises(UserError) as refusal:
            fetch(_download(address, **how), tmp_path / "file.bin")
        return str(refusal.value).replace(address.split("/")[2], "HOST"), asked, _names(tmp_path)


def test_a_file_comes_whole(tmp_path, capfd):
    with serving(server.good) as (address, asked):
        fetch(_download(address), tmp_path / "new" / "file.bin")
        assert (tmp_path / "new" / "file.bin").read_bytes() == FILE
        assert _names(tmp_path / "new") == ["file.bin"]
        fetch(_download(address), tmp_path / "new" / "file.bin")
    assert asked == [None]  # what is there is not fetched again
    assert capfd.readouterr() == ("", "fetching file.bin, 1.0 MB\n")


@pytest.mark.parametrize("sums", [{}, {"md5": SUMS["md5"]}, {"sha256": SUMS["sha256"]}])
def test_sums_of_either_kind(tmp_path, sums):
    with serving(server.good) as (address, _):
        fetch(_download(address, sums=sums), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_what_broke_off_is_resumed_where_it_ended(tmp_path):
    with serving(server.broken, server.broken, server.good) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == [None, "bytes=300000-", "bytes=600000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_the_next_call_resumes_too(tmp_path):
    with serving(server.broken, server.says(503)) as (address, asked):
        with pytest.raises(UserError, match=r"answered 503 .*; 0.3 of 1.0 MB have come and are kept: try again later"):
            fetch(_download(address), tmp_path / "file.bin")
        assert len(asked) == 3
    assert _names(tmp_path) == ["file.bin.part"]
    assert (tmp_path / "file.bin.part").read_bytes() == FILE[:300_000]
    with serving(server.good) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
        assert asked == ["bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE
    assert _names(tmp_path) == ["file.bin"]


def test_a_server_without_ranges_sends_it_all_again(tmp_path):
    with serving(server.broken, server.without_range) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == [None, "bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE


@pytest.mark.parametrize("behaviour", [server.other_part, server.says(416)])
def test_a_part_that_does_not_fit_is_begun_again(tmp_path, behaviour):
    with serving(server.broken, behaviour, server.good) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == [None, "bytes=300000-", None]
    assert (tmp_path / "file.bin").read_bytes() == FILE


@pytest.mark.parametrize("held", [FILE, FILE + b"too long", b""])
def test_a_part_of_any_length(tmp_path, held):
    (tmp_path / "file.bin.part").write_bytes(held)
    with serving(server.good) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == ([] if held == FILE else [None])
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_as_long_as_it_gets_on_it_goes_on(tmp_path):
    with serving(server.broken) as (address, asked):
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == [None, "bytes=300000-", "bytes=600000-", "bytes=900000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_getting_on_and_losing_it_again_comes_to_an_end(tmp_path):
    behaviours = [server.broken, server.says(416)] * 20
    sentence, asked, _ = _refused(tmp_path, *behaviours)
    assert "connection ended after 0.3 MB" in sentence
    assert asked == [None, "bytes=300000-", None]


def test_a_file_that_is_cut_at_the_server(tmp_path):
    """Without a length said, so that only the end of the connection tells."""
    sentence, asked, left = _refused(tmp_path, server.cut)
    assert sentence.startswith("could not fetch file.bin (HOST: the connection ended after 0.5 MB); 0.5 of 1.0 MB have")
    assert left == ["file.bin.part"]
    assert asked == [None, "bytes=500000-", "bytes=500000-"]


def test_a_wrong_checksum_deletes_the_part_and_says_so(tmp_path):
    sentence, _, left = _refused(tmp_path, server.wrong)
    assert sentence.startswith("what was fetched as file.bin has the SHA256 ")
    assert f"published is {SUMS['sha256']}; it was deleted: try again, or put the file into " in sentence
    assert left == []
    sentence, _, left = _refused(tmp_path, server.good, sums={"md5": "0" * 32})
    assert f"has the MD5 {SUMS['md5']}, published is {'0' * 32}" in sentence
    assert left == []


@pytest.mark.parametrize(
    ("behaviour", "reason", "tries"),
    [
        (server.says(404), "it answered 404 Not Found", 1),
        (server.says(403), "it answered 403 Forbidden", 1),
        (server.says(500), "it answered 500 Internal Server Error", 3),
        (server.claims(len(FILE) + 1), "it offers 1,048,577 bytes where 1,048,576 are published", 1),
        (server.claims(10**18), "it offers 1,000,000,000,000,000,000 bytes where 1,048,576 are published", 1),
        (server.claims(0), "it offers 0 bytes where 1,048,576 are published", 1),
        (server.longer, "it sends more than the 1,048,576 bytes that are published", 1),
        (server.silent, "nothing came for 0.5 seconds", 3),
        (server.redirects("file:///etc/passwd"), "it answered 302 Found", 1),
        (
            server.redirects("ftp://127.0.0.1/file.bin"),
            "it redirects to ftp://127.0.0.1, which is no published host",
            1,
        ),
        (server.redirects("http://localhost:1/x"), "it redirects to http://localhost:1, which is no published host", 1),
        (server.redirects("/file.bin"), "it answered 302 Found", 11),  # a loop
    ],
)
def test_answers_that_are_no_file(tmp_path, behaviour, reason, tries):
    sentence, asked, left = _refused(tmp_path, behaviour)
    assert sentence.startswith(f"could not fetch file.bin (HOST: {reason}"), sentence
    assert sentence.endswith(f"try again later, or put the file into {tmp_path} yourself")
    assert "\n" not in sentence
    assert left == []
    assert len(asked) <= tries


def test_an_answer_that_trickles_is_given_up(tmp_path):
    sentence, _, left = _refused(tmp_path, server.trickle)
    assert "it sends less than 1,024 bytes a second; " in sentence.replace(")", "")
    assert left == ["file.bin.part"]


def test_a_redirection_to_another_published_host(tmp_path):
    with serving(server.good) as (second, _), serving(server.redirects(second)) as (first, _):
        fetch(_download(first, second), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_a_mirror_goes_on_where_the_first_broke(tmp_path):
    with serving(server.broken) as (first, _), serving(server.good) as (second, asked):
        fetch(_download(first, second), tmp_path / "file.bin")
    assert asked == ["bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_no_server_at_all(tmp_path):
    with pytest.raises(
        UserError, match=r"could not fetch file.bin \(127.0.0.1:9: Connection refused\); try again later"
    ):
        fetch(_download("http://127.0.0.1:9/file.bin"), tmp_path / "file.bin")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_other_schemes_are_never_opened(tmp_path, address):
    with pytest.raises(UserError, match="unknown url type"):
        fetch(_download(address), tmp_path / "file.bin")


def test_an_interrupt_keeps_what_has_come(tmp_path, monkeypatch):
    pieces = fetching._pieces

    def interrupted(answer):
        yield next(pieces(answer))
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "_pieces", interrupted)
    with serving(server.good) as (address, asked):
        with pytest.raises(KeyboardInterrupt):
            fetch(_download(address), tmp_path / "file.bin")
        came = (tmp_path / "file.bin.part").read_bytes()
        assert came
        assert FILE.startswith(came)
        monkeypatch.undo()
        fetch(_download(address), tmp_path / "file.bin")
        assert asked == [None, f"bytes={len(came)}-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE


def test_a_bar_where_there_is_a_terminal(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with serving(server.good) as (address, _):
        fetch(_download(address), tmp_path / "file.bin")
    out, err = capfd.readouterr()
    assert out == ""
    assert "file.bin" in err
    assert "1.0/1.0 MB" in err


def test_several_at_once(tmp_path):
    """The ranks of one training all want the data: one fetches, the others wait and find them."""
    context = multiprocessing.get_context("fork")
    with serving(server.broken, server.good) as (address, asked):
        ranks = [context.Process(target=fetch, args=(_download(address), tmp_path / "file.bin")) for _ in range(4)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(20)
    assert [rank.exitcode for rank in ranks] == [0] * 4
    assert asked == [None, "bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE
    assert threading.active_count() < 20


def test_no_room(tmp_path, monkeypatch):
    usage = fetching.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with serving(server.good) as (address, asked):
        with pytest.raises(UserError, match=r"file.bin needs 1.0 MB more and .* has 0.0 MB left; free some space"):
            fetch(_download(address), tmp_path / "file.bin")
        assert asked == []


def test_a_disk_that_fills_up(tmp_path):
    """What found room is kept, as after a broken connection."""
    with serving(server.good) as (address, asked):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limits[1]))
        try:
            with pytest.raises(UserError, match=r"cannot write .*file.bin: the limit on the size of a file is reached"):
                fetch(_download(address), tmp_path / "file.bin")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        fetch(_download(address), tmp_path / "file.bin")
    assert asked == [None, "bytes=400000-"]
    assert (tmp_path / "file.bin").read_bytes() == FILE
