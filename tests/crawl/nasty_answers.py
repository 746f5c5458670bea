"""Answers of broken and hostile servers, by the stat that counts them."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass, field
from itertools import chain, cycle
from typing import TYPE_CHECKING

from crawlproject.urls.extract import MAX_LINKS
from tests.crawl.nasty_server import CLOSE, HANG, RESET, page, response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.crawl.nasty_server import Answers, Script

#: Limits of the crawl that the answers exceed.
MAX_SIZE = 6_000_000
MAX_REDIRECTS = 3
MAX_FAILURES = 5
MAX_ROBOTS_FAILURES = 2

HTML = page("/linked").encode()
GARBAGE = b"\x00garbage" * 99
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Nasty:
    """A broken server; its pages are /bad and /after, which is valid."""

    answers: Answers
    #: What it adds to the stats of the crawl.
    stats: Mapping[str, int] = field(default_factory=dict)
    #: Whether /bad is read all the same, so that its link is followed.
    linked: bool = False
    #: Whether its robots.txt is unavailable, so that no page is fetched.
    closed: bool = False


class Endless:
    """A script that sends ``first`` and then repeats ``steps`` forever."""

    def __init__(self, first: bytes, *steps: bytes | float) -> None:
        self._first = first
        self._steps = steps

    def __iter__(self) -> Iterator[bytes | float]:
        return chain([self._first], cycle(self._steps))


def bad(*script: bytes | float | str) -> Answers:
    """A server whose /bad is ``script``."""
    return {"/bad": script}


def html(body: bytes = HTML, *headers: str, status: str = "200 OK") -> Answers:
    """A server whose /bad has ``body`` and ``headers``."""
    return bad(response(body, *headers, status=status))


def robots(*script: bytes | float | str) -> Answers:
    """A server with a broken robots.txt."""
    return {"/robots.txt": script}


def redirect(location: str) -> Script:
    """A redirect to a given location."""
    return (response(b"", f"Location: {location}", status="302 Found"),)


def to(location: str) -> Answers:
    """A server whose /bad redirects to ``location``."""
    return {"/bad": redirect(location)}


def counted(*stats: str, linked: bool = False, **sites: Answers) -> dict[str, Nasty]:
    """Servers that add 1 to each of ``stats``."""
    return {name: Nasty(answers, dict.fromkeys(stats, 1), linked) for name, answers in sites.items()}


def unreachable(exception: str, kind: str, **sites: Answers) -> dict[str, Nasty]:
    """Servers whose robots.txt is unavailable: it is requested again, then both pages are given up."""
    stats = {
        f"robotstxt/exception_count/<class 'scrapy.exceptions.{exception}'>": MAX_ROBOTS_FAILURES,
        f"frontier/failures/{kind}": MAX_ROBOTS_FAILURES,
        "robotstxt/unreachable": MAX_ROBOTS_FAILURES,
        "robotstxt/given_up": 1,
        "fates/queue/server_given_up": 2,
    }
    return {name: Nasty(answers, stats, closed=True) for name, answers in sites.items()}


def bomb(size: int) -> bytes:
    """``size`` NULs in a thousandth of their size."""
    block, count, checksum = bytes(1_000_000), size // 1_000_000, 0
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # stands for itself, so it can be repeated
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    header, end = gzip.compress(b"")[:10], zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    return header + packed * count + end + struct.pack("<II", checksum, count * len(block))


def slowly(answer: bytes) -> Iterator[bytes | float]:
    """A byte a second."""
    for byte in answer:
        yield bytes([byte])
        yield 1.0


#: Read all the same, and not counted.
READ_ANYWAY = counted(
    linked=True,
    unknown_charset=html(HTML, "Content-Type: text/html; charset=klingon-8"),
    utf16_without_mark=html(HTML.decode().encode("utf-16-le"), "Content-Type: text/html; charset=utf-16"),
    nuls=html(bytes(68_000) + HTML),
    nul_in_title=html(page("/linked", title="a\0b").encode()),
    many_1xx=bad(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 500 + response(HTML)),
    last_modified=html(HTML, "Last-Modified: \xe9\xff\x80 gestern"),
    base_ipv6=html(b'<base href="http://[::1">' + HTML),
    refresh_to_itself=html(b'<meta http-equiv="refresh" content="5; url=/bad">' + HTML),
    refresh_to_file=html(b'<meta http-equiv="refresh" content="0; url=file:///etc/passwd">' + HTML),
)

#: Bytes after the end of the answer: it is read, and the connection closed.
SURPLUS = (
    counted(
        "downloader/unsolicited_data",
        linked=True,
        length_too_small=html(HTML + b"HTTP/1.1 500 Surplus\r\n\r\n", f"Content-Length: {len(HTML)}"),
        answer_behind=html(HTML + response(page("/never")), f"Content-Length: {len(HTML)}"),
    )
    | counted("downloader/unsolicited_data", body_of_204=html(HTML, status="204 No Content"))
    | counted(
        "downloader/unsolicited_data",
        "httperror/response_ignored_status_count/304",
        body_of_304=html(HTML, status="304 Not Modified"),
    )
)

NO_CHARSET = counted(
    "charset/unknown",
    linked=True,
    charset_undefined=html(HTML, "Content-Type: text/html; charset=undefined"),
    charset_in_page=html(b"<meta charset=base64>" + HTML),
    charset_of_no_type=html(HTML, "Content-Type: \xe9\xff/;;charset=\xff"),
    charset_slow=html(HTML + b"9" * 200_000, "Content-Type: text/html; charset=punycode"),  # 8 s of Python
)

#: Nothing to read, and not counted.
EMPTY = counted(
    png_as_html=html(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9),
    robots_delay=robots(response("User-agent: *\nCrawl-delay: inf\nCrawl-delay: nan\nCrawl-delay: -1e999\n")),
    robots_redirect_ipv6={"/robots.txt": redirect("http://[::1")},
    robots_redirect_to_file={"/robots.txt": redirect("file:///etc/passwd")},
    redirect_latin1=to("/caf\xe9"),
)

OTHER_MEDIA = counted("web/skipped/content_type", html_as_png=html(HTML, "Content-Type: image/png"))

BROKEN_ENCODING = counted(
    "httpcompression/broken",
    gzip_garbage=html(GARBAGE, "Content-Encoding: gzip"),
    encoding_latin1=html(HTML, "Content-Encoding: r\xf6t"),
    robots_gzip=robots(response(GARBAGE, "Content-Encoding: gzip")),
)

TOO_LARGE = counted(
    "frontier/failures/too_large",
    announced=bad(HEAD + b"Content-Length: 99999999999\r\n\r\n", HANG),
    endless_body={"/bad": Endless(HEAD + b"\r\n", b"<p>" * 100_000)},
) | counted("httpcompression/too_large", gzip_bomb=html(bomb(50_000_000), "Content-Encoding: gzip"))

TRUNCATED = (
    counted(
        "frontier/failures/truncated_body",
        linked=True,
        truncated_body=bad(response(HTML, "Content-Length: 9999"), CLOSE),
        reset_in_body=bad(response(HTML, "Content-Length: 9999"), 0.1, RESET),
    )
    | counted(
        "frontier/failures/truncated_body",
        chunk_broken=bad(CHUNKED + b"5\r\nhello\r\nzz\r\nbroken", CLOSE),
        chunk_huge=bad(CHUNKED + b"f" * 100 + b"\r\nhello", CLOSE),
    )
    | counted(
        "httpcompression/truncated",
        linked=True,
        gzip_truncated=html(gzip.compress(HTML * 99)[:-20], "Content-Encoding: gzip"),
    )
)

BROKEN_RESPONSE = counted(
    "frontier/failures/broken_response",
    length_negative=html(HTML, "Content-Length: -5"),
    length_twice=html(HTML, "Content-Length: 5", "Content-Length: 900"),
    endless_headers={"/bad": Endless(HEAD, b"X-Again: and again\r\n" * 1000)},
    endless_1xx={"/bad": Endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 100, 0.01)},
    long_header=bad(HEAD + b"X-Long: " + b"a" * 10_000_000 + b"\r\n\r\n"),
    http09=bad(HTML, CLOSE),
    status_garbage=bad(b"HTTP/1.1 \xff\xfe banana\r\n\r\n", CLOSE),
    no_answer=bad(CLOSE),
    reset=bad(RESET),
) | unreachable("DownloadFailedError", "broken_response", robots_reset=robots(RESET))

TIMED_OUT = counted(
    "frontier/failures/timeout",
    hang=bad(HANG),
    missing_body=bad(HEAD + b"Content-Length: 500\r\n\r\n", HANG),
    slow_loris={"/bad": list(slowly(response(HTML)))},
) | unreachable("DownloadTimeoutError", "timeout", robots_hang=robots(HANG))

BAD_STATUS = (
    counted("httperror/response_ignored_status_count/999", status_999=html(HTML, status="999 Go Away"))
    | counted(
        "httperror/response_ignored_status_count/503",
        retry_after_soon=html(HTML, "Retry-After: soon", status="503 Busy"),
    )
    | counted(
        "httperror/response_ignored_status_count/302",
        redirect_nowhere=html(b"", status="302 Found"),
        redirect_to_file=to("file:///etc/passwd"),
    )
)

REDIRECTS = (
    counted(
        "dupefilter/filtered",
        redirect_loop={"/bad": redirect("/b"), "/b": redirect("/bad")},
        redirect_self=to("/bad"),
        redirect_empty=to(""),
    )
    | counted(
        "fates/answer/redirect_limit",
        redirect_chain={"/bad": redirect("/1"), **{f"/{n}": redirect(f"/{n + 1}") for n in range(1, 9)}},
    )
    | counted(
        "redirect/malformed",
        "httperror/response_ignored_status_count/302",
        redirect_ipv6=to("http://[::1"),
        redirect_port_text=to("http://127.0.0.1:port/"),
        redirect_to_script=to("javascript:alert(1)"),
        redirect_long_host=to("http://" + "a." * 3_000),
    )
    | counted(
        "redirect/malformed",
        linked=True,
        refresh_ipv6=html(b'<meta http-equiv="refresh" content="0; url=http://[::1">' + HTML),
    )
)

CUT = (
    counted("web/truncated_pages", linked=True, deep_html=html(b'<a href="/linked">' + b"<div>" * 100_000))
    | {
        "many_links": Nasty(
            html(page(*(f"/{n}.jpg" for n in range(99_999)), "/linked").encode()),
            {"fates/link/extension": MAX_LINKS, "web/truncated_pages": 1},
        )
    }
    | counted(
        "robotstxt/truncated",
        robots_5mb=robots(response(b"User-agent: *\nDisallow: /private/\n" * 150_000)),
        robots_endless={"/robots.txt": Endless(HEAD + b"\r\n", b"# and again\n" * 10_000)},
    )
)

CASES = (
    READ_ANYWAY
    | SURPLUS
    | NO_CHARSET
    | EMPTY
    | OTHER_MEDIA
    | BROKEN_ENCODING
    | TOO_LARGE
    | TRUNCATED
    | BROKEN_RESPONSE
    | TIMED_OUT
    | BAD_STATUS
    | REDIRECTS
    | CUT
)
