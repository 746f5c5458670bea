"""What is kept can be read by other software, and is there whenever the process dies."""

import logging
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawlproject.repository import PageIndex, RepositoryError, WarcFiles, reindex
from crawlproject.repository.reading import Scan, decoded, read_message
from crawlproject.repository.records import MAX_URL
from crawlproject.repository.warc_file import compress, members
from tests.repository.captures import HEAD, Kept, capture, kept, options


def warc_file(directory: Path) -> Path:
    """The only WARC file."""
    (path,) = directory.glob("*.warc.*")
    return path


def rows(directory: Path) -> list[object]:
    with PageIndex(directory, read_only=True) as index:
        return sorted(index.rows())


def scanned(directory: Path) -> list[object]:
    found: list[object] = []
    for path in WarcFiles(directory).finished():
        with path.open("rb") as file:
            found += Scan(file, path.name)
    return sorted(found)


def records(path: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """Type, headers and block of each record, as another library reads them."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            headers = dict(record.rec_headers.headers)
            found.append((record.rec_type, headers, record.raw_stream.read()))
    return found


def test_a_page_is_a_response_a_request_and_metadata(tmp_path: Path) -> None:
    """WARC 1.1, linked to each other, with equal dates; a warcinfo record first."""
    kept(options(tmp_path), [capture(b"<p>hello", protocols=("http/1.1", "tls/1.3"))])
    (kind, _, block), *page = records(warc_file(tmp_path))
    assert (kind, block) == ("warcinfo", b"software: test/1\r\n")
    assert [kind for kind, _, _ in page] == ["response", "request", "metadata"]
    (_, response, answer), (_, request, asked), (_, metadata, fields) = page
    assert answer == HEAD.replace(b"OK", b"Status") + b"<p>hello"
    assert asked == b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    assert request["WARC-Concurrent-To"] == metadata["WARC-Refers-To"] == response["WARC-Record-ID"]
    assert response["WARC-Date"] == request["WARC-Date"] == metadata["WARC-Date"] == "2026-09-21T14:13:20.250000Z"
    assert response["WARC-IP-Address"] == request["WARC-IP-Address"] == "127.0.0.1"
    assert fields.decode().splitlines() == [
        "via: http://a.example/from",
        "fetchTimeMs: 4.000",
        "dnsTimeMs: 1.000",
        "connectTimeMs: 2.000",
        "responseTimeMs: 3.000",
        "length: 8",
        "server: http://a.example",
        "depth: 1",
        "quality: 2.5",
    ]


def test_a_page_like_an_earlier_one_is_a_revisit(tmp_path: Path) -> None:
    """Of the same run or of one before; empty bodies and those cut short are no copies."""
    chosen = options(tmp_path)
    first = [capture(b"same"), capture(b"same", "http://b.example/"), capture(b""), capture(b"", "http://b.example/e")]
    assert kept(chosen, first)["repository/records/revisit"] == 1
    second = [capture(b"same", "http://c.example/"), capture(b"cut", truncated="disconnect"), capture(b"cut")]
    assert kept(chosen, second)["repository/records/revisit"] == 1
    with PageIndex(tmp_path, read_only=True) as index:
        revisits = [row for row in index.rows() if row.record_type == "revisit"]
        original = index.original(revisits[0].digest or "")
    assert [row.url for row in revisits] == ["http://b.example/", "http://c.example/"]
    assert original is not None
    assert original.url == "http://a.example/"


def test_a_revisit_says_what_it_repeats(tmp_path: Path) -> None:
    """Its headers are kept, its body is the other's (WARC 1.1, 6.7.2)."""
    kept(options(tmp_path), [capture(b"same"), capture(b"same", "http://b.example/", fetched_at=1_790_000_001.0)])
    found = records(warc_file(tmp_path))
    response, (kind, headers, block) = found[1][1], found[4]
    assert kind == "revisit"
    assert headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert headers["WARC-Refers-To"] == response["WARC-Record-ID"]
    assert headers["WARC-Refers-To-Target-URI"] == "http://a.example/"
    assert headers["WARC-Refers-To-Date"] == response["WARC-Date"]
    assert headers["WARC-Payload-Digest"] == response["WARC-Payload-Digest"]
    assert headers["WARC-Truncated"] == "length"
    assert block == HEAD.replace(b"OK", b"Status")


@pytest.mark.parametrize("pause", [False, True])
def test_not_modified_refers_to_what_the_url_had_last(tmp_path: Path, pause: bool) -> None:
    """Also where that was a revisit itself, and in a later run; a stranger's 304 refers to nothing."""
    before = [
        capture(b"old", "http://a.example/p", fetched_at=1.0),
        capture(b"new", "http://a.example/other", fetched_at=2.0),
        capture(b"new", "http://a.example/p", fetched_at=3.0),
    ]
    after = [
        capture(b"", "http://a.example/p", 304, fetched_at=4.0),
        capture(b"", "http://a.example/p", 304, fetched_at=5.0),
        capture(b"", "http://a.example/unknown", 304, fetched_at=6.0),
    ]
    made = Kept(options(tmp_path))
    made.keep(before)
    if pause:
        made.repository.commit()
    made.keep(after)
    made.repository.close()
    found = [headers for kind, headers, _ in records(warc_file(tmp_path)) if kind == "revisit"]
    assert [headers["WARC-Profile"].rpartition("/")[2] for headers in found[1:]] == ["server-not-modified"] * 3
    assert [headers.get("WARC-Refers-To-Target-URI") for headers in found[1:]] == ["http://a.example/other"] * 2 + [
        None
    ]
    assert found[1]["WARC-Refers-To-Date"] == "1970-01-01T00:00:02.000000Z"


bodies = st.one_of(st.binary(max_size=60), st.sampled_from([b"", b"twice", b"WARC/1.1\r\n\r\n", b"\x1f\x8b\x08"]))
captures = st.builds(
    capture,
    body=bodies,
    url=st.sampled_from(["http://a.example/", "http://b.example:81/x?y=%20", "https://[::1]/"]),
    status=st.sampled_from([200, 200, 301, 304, 404]),
    fetched_at=st.integers(0, 2**31).map(float),
    truncated=st.sampled_from([None, None, "disconnect"]),
    content_type=st.just("text/html"),
    depth=st.one_of(st.none(), st.integers(0, 9)),
    quality=st.one_of(st.none(), st.floats(0, 1e9)),
    via=st.one_of(st.none(), st.text(max_size=5)),
    connect_time=st.one_of(st.none(), st.integers(0, 10**6).map(lambda micro: micro / 1e6)),
)


@settings(max_examples=5, deadline=None)
@given(pages=st.lists(captures, max_size=8), file_size=st.sampled_from([4000, 10**9]))
def test_the_index_can_be_made_again_from_the_files(pages: list, file_size: int) -> None:
    """Whatever came: the rows are those that a scan of the WARC files finds, and every body comes back."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        counts = kept(options(folder, file_size), pages)
        assert counts["repository/files"] == len(WarcFiles(folder).finished())
        before = rows(folder)
        assert before == scanned(folder)
        assert len(before) == len(pages)
        (folder / "index.sqlite").unlink()
        assert reindex(folder) == (counts["repository/files"], len(pages))
        assert rows(folder) == before
        for row in before:
            if row.record_type == "response":
                message = read_message(folder / row.file, row.offset)
                assert message.body in {page.body for page in pages if page.page.url == row.url}
                assert len(message.body) == row.length


@pytest.mark.parametrize("known", [False, True])
def test_a_crash_at_any_byte_leaves_every_whole_page(tmp_path: Path, known: bool) -> None:
    """The next crawl cuts off what is not whole, adds to the index what it does not have, and finishes the file."""
    made = Kept(options(tmp_path / "whole"))
    made.keep([capture(b"%d" % number * 30, f"http://a.example/{number}") for number in range(3)])
    if known:
        made.repository.commit()
    path = warc_file(tmp_path / "whole")
    data = path.read_bytes()
    with path.open("rb") as file:
        ends = [member.offset + member.length for member in members(file)]
    for size in (0, 9, *(end + step for end in ends[1:] for step in (-5, 0))):
        folder = tmp_path / str(size)
        shutil.copytree(tmp_path / "whole", folder)
        (folder / path.name).write_bytes(data[:size])
        again = Kept(options(folder))
        whole = [end for end in ends if end <= size]
        pages = sum(end <= size for end in ends[1::3])  # each after the warcinfo record: response, request, metadata
        assert again.counts["repository/repaired"] == 1
        assert again.counts["repository/recovered"] == (0 if known else pages)
        assert [len(finished.read_bytes()) for finished in WarcFiles(folder).finished()] == whole[-1:]
        again.repository.close()
        assert [row.url for row in rows(folder)] == [f"http://a.example/{number}" for number in range(pages)]
        assert known or rows(folder) == scanned(folder)
    made.repository.close()


def test_what_a_living_process_writes_to_is_left_alone(tmp_path: Path) -> None:
    """Two crawls in one directory: a file each, one index; each sees the other's pages as duplicates once committed."""
    first, second = Kept(options(tmp_path)), Kept(options(tmp_path))
    first.keep([capture(b"one")])
    third = Kept(options(tmp_path))
    assert third.counts["repository/repaired"] == 0
    second.keep([capture(b"two", "http://b.example/")])
    first.repository.commit()
    third.keep([capture(b"one", "http://c.example/")])
    for made in (first, second, third):
        made.repository.close()
    assert len(WarcFiles(tmp_path).finished()) == 3
    assert [row.record_type for row in rows(tmp_path)] == ["response", "response", "revisit"]
    assert rows(tmp_path) == scanned(tmp_path)


def test_files_end_at_their_size(tmp_path: Path) -> None:
    """A page goes to a new file where it would make the old one too long; each begins with its warcinfo record."""
    pages = [capture(bytes(range(256)) + b"%d" % number, f"http://a.example/{number}") for number in range(12)]
    counts = kept(options(tmp_path, file_size=5000), pages)
    paths = WarcFiles(tmp_path).finished()
    assert len(paths) == counts["repository/files"] > 2
    assert counts["repository/bytes"] == sum(path.stat().st_size for path in paths)
    for path in paths:
        kinds = [kind for kind, _, _ in records(path)]
        assert kinds == ["warcinfo"] + ["response", "request", "metadata"] * (len(kinds) // 3)
        assert path.stat().st_size <= 5000


def test_other_tools_find_no_fault(tmp_path: Path) -> None:
    """``warcio check``, in a process of its own."""
    kept(options(tmp_path), [capture(b"x"), capture(b"x", "http://b.example/"), capture(b"", status=304)])
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(warc_file(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("digest pass") == 8  # all but the two revisits, whose payloads lie elsewhere


def test_a_long_body_is_kept_as_any_other(tmp_path: Path) -> None:
    """Packed in a thread."""
    body = bytes(range(256)) * 8000
    kept(options(tmp_path), [capture(body), capture(body, "http://b.example/")])
    first, second = rows(tmp_path)
    assert read_message(tmp_path / first.file, first.offset).body == body
    assert (second.record_type, second.length) == ("revisit", len(body))


def test_a_file_that_is_no_index_is_refused(tmp_path: Path) -> None:
    """By name, before anything is written."""
    (tmp_path / "index.sqlite").write_text("something else" * 100)
    with pytest.raises(RepositoryError, match=r"index.sqlite: file is not a database"):
        Kept(options(tmp_path))
    with closing(sqlite3.connect(tmp_path / "newer.sqlite")) as database, database:
        database.execute("PRAGMA user_version = 99")
    (tmp_path / "newer.sqlite").rename(tmp_path / "index.sqlite")
    with pytest.raises(RepositoryError, match="has format 99, this version reads 1"):
        Kept(options(tmp_path))


def test_an_index_that_cannot_be_written_costs_no_page(tmp_path: Path) -> None:
    """Counted; `scrapy repository index` mends it."""
    made = Kept(options(tmp_path))
    made.keep([capture(b"one")])
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as database, database:
        database.execute("DROP TABLE pages")
    made.repository.commit()
    made.keep([capture(b"two")])
    made.repository.close()
    assert made.counts["repository/index_failures"] >= 1
    (tmp_path / "index.sqlite").unlink()
    assert reindex(tmp_path) == (1, 2)


@pytest.mark.parametrize("coding", ["gzip", "br", "identity"])
def test_bodies_come_back_decoded(tmp_path: Path, coding: str) -> None:
    """They are kept as received."""
    import gzip

    import brotli

    body = {"gzip": gzip.compress, "br": brotli.compress, "identity": bytes}[coding](b"text" * 20)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: " + coding.encode() + b"\r\n\r\n"
    kept(options(tmp_path), [capture(body, response_head=head)])
    (row,) = rows(tmp_path)
    message = read_message(tmp_path / row.file, row.offset)
    assert message.body == body
    assert decoded(message) == b"text" * 20


MANY = b"".join(b"X-%d: %s\r\n" % (number, b"v" * 90) for number in range(1000))

#: Heads and bodies that servers send, or could: (head without the empty line, body).
STRANGE = {
    "100 kB of headers": (b"HTTP/1.1 200 OK\r\n" + MANY + b"Content-Type: text/html", b"body"),
    "a header of 100 kB": (b"HTTP/1.1 200 OK\r\nX: " + b"v" * 100_000 + b"\r\nContent-Type: text/html", b"body"),
    "no reason": (b"HTTP/1.1 200 \r\nContent-Type: text/html", b"body"),
    "no header": (b"HTTP/1.1 200 OK", b"body"),
    "odd bytes": (b"HTTP/1.1 200 \xff\xfe\r\n\xff\x00: \x80\x00\r\nno colon\r\n: no name\r\nX:\r\nX", b"body"),
    "a WARC record in the body": (b"HTTP/1.1 200 OK", b"WARC/1.1\r\nWARC-Type: response\r\n\r\n\r\n\r\n"),
    "empty lines in the body": (b"HTTP/1.1 200 OK", b"\r\n\r\n\n\n"),
    "no body": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked", b""),
}
URLS = [
    "http://a.example/" + "a" * 100_000,
    "http://a.example/\r\nWARC-Type: x",
    "http://a.example/\x00\x7f",
    "\u00fc\ud800",
]


def test_whatever_was_written_is_read(tmp_path: Path) -> None:
    """Strange answers and URLs, also as revisits: the scan finds the rows, and every message comes back."""
    pages = [
        capture(
            body + name.encode() * bool(body),
            f"http://a.example/{name.replace(' ', '-')}",
            response_head=head + b"\r\n\r\n",
            **more,
        )
        for name, (head, body) in STRANGE.items()
        for more in ({"content_type": "text/html" if b"Content-Type" in head else None},)
    ]
    pages += [capture(b"page", url) for url in URLS]
    pages += [capture(b"", URLS[0], 304), capture(b"same", URLS[0]), capture(b"same", URLS[0] + "b")]
    counts = kept(options(tmp_path), pages)
    assert counts["repository/urls_changed"] == len(URLS) + 3
    before = rows(tmp_path)
    assert len(before) == len(pages)
    assert before == scanned(tmp_path)
    (tmp_path / "index.sqlite").unlink()
    assert reindex(tmp_path) == (1, len(pages))
    assert rows(tmp_path) == before
    assert max(len(row.url) for row in before) == MAX_URL
    by_url = {row.url: row for row in before}
    for page in pages[: len(STRANGE)]:
        message = read_message(tmp_path / by_url[page.page.url].file, by_url[page.page.url].offset)
        assert (message.head, message.body) == (page.response_head[:-4], page.body)
        assert by_url[page.page.url].status == 200
        if b"gzip" not in message.head:
            assert decoded(message) == page.body


@pytest.mark.parametrize("whole", [False, True], ids=["damaged", "no record"])
def test_records_before_damage_and_around_an_unreadable_one_are_indexed(
    tmp_path: Path, whole: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says where it is; a second run has nothing to do."""
    caplog.set_level(logging.WARNING)  # an earlier test may have set the root logger to NOTSET (configure_logging)
    kept(options(tmp_path), [capture(b"%d" % n * 999, f"http://a.example/{n}") for n in range(4)])
    path = warc_file(tmp_path)
    with path.open("rb") as file:
        parts = [member.data for member in members(file)]
    packed = [compress(b"no record" if whole and number == 4 else part) for number, part in enumerate(parts)]
    if not whole:  # the second page's response, in its middle
        packed[4] = packed[4][:30] + b"\xff" * 40 + packed[4][70:]
    path.write_bytes(b"".join(packed))
    (tmp_path / "index.sqlite").unlink()
    found = (0, 2, 3) if whole else (0,)
    assert reindex(tmp_path) == (1, len(found))
    assert [row.url for row in rows(tmp_path)] == [f"http://a.example/{number}" for number in found]
    place = len(b"".join(packed[:4]))
    told = (
        f"unreadable records: 1, the first at byte {place}"
        if whole
        else f"damaged at byte {place}: what follows is not indexed"
    )
    assert [record.getMessage() for record in caplog.records] == [f"{path.name}: {told}"]
    assert reindex(tmp_path) == (0, 0)


def foreign(**changed: bytes) -> bytes:
    """A page as other software writes it, with metadata; ``changed``: lines of the records."""
    lines = {
        "date": b"WARC-Date: 2020-01-01T00:00:00Z",
        "uri": b"WARC-Target-URI: <http://a.example/>",
        "status": b"HTTP/1.0 404 Gone",
        "metadata": b"depth: 3",
        **changed,
    }
    shared = b"WARC/1.0\r\n%(date)b\r\n%(uri)b\r\n"
    block = lines["status"] + b"\nContent-Type: text/plain\n\nbody"
    head = (
        shared
        + b"WARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/http;msgtype=response"
    )
    about = shared + b"WARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:2>\r\nWARC-Refers-To: <urn:uuid:1>"
    named = {name.encode(): value for name, value in lines.items()}
    records = ((head, block), (about, lines["metadata"]))
    return b"".join(
        compress(head % named + b"\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block))
        for head, block in records
    )


def test_files_of_other_software(tmp_path: Path) -> None:
    """Bare line feeds, odd status lines, numbers out of all bounds: a row each; a record without a date is skipped."""
    pages = [
        foreign(),
        foreign(status=b"HTTP/1.1 99999999999999999999 OK"),
        foreign(status=b"nothing"),
        foreign(metadata=b"length: 1e999\r\ndepth: nan\r\nquality: -inf\r\nfetchTimeMs: 1e300"),
        foreign(uri=b"WARC-Target-URI: http://a.example/\xff\xfe"),
        foreign(date=b"WARC-Date: soon"),
        foreign(date=b"X: y"),
    ]
    (tmp_path / "foreign.warc.gz").write_bytes(b"".join(pages))
    assert reindex(tmp_path) == (1, 5)
    with PageIndex(tmp_path, read_only=True) as index:
        found = sorted(index.rows(), key=lambda row: row.offset)
    assert [row.status for row in found] == [404, None, None, 404, 404]
    assert [row.depth for row in found] == [3, 3, 3, None, 3]
    assert {(row.length, row.content_type) for row in found} == {(4, "text/plain")}
