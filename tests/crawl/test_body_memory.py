"""The total of bodies in progress is bounded, whatever 32 servers send; each body arrives in the end."""

import gzip
from collections.abc import Iterator

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.nasty_server import Script, response, running

MEGABYTE = bytes(1 << 20)
#: A type that no component reads: the crawl costs only its downloads.
KIND = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"


def sized(size: int) -> Script:
    """A body of so many megabytes, with its length."""
    return [KIND + b"Content-Length: %d\r\n\r\n" % (size << 20), *[MEGABYTE] * size]


def chunked(size: int) -> Script:
    """The same, in chunks."""
    return [KIND + b"Transfer-Encoding: chunked\r\n\r\n", *[b"100000\r\n", MEGABYTE, b"\r\n"] * size, b"0\r\n\r\n"]


def bomb(size: int) -> Script:
    """The same, compressed to a thousandth."""
    packed = gzip.compress(MEGABYTE * size, 1)
    return [response(packed, "Content-Type: application/octet-stream", "Content-Encoding: gzip")]


#: Server -> megabytes.
SIZES = {number: 10 + number % 21 for number in range(32)}
KINDS = (sized, chunked, bomb)


@pytest.fixture(scope="module")
def result() -> Iterator[Crawl]:
    """A crawl of a page of each server."""
    sites = {str(number): {"/": KINDS[number % 3](size)} for number, size in SIZES.items()}
    settings = {
        **IMPOLITE,
        "DOWNLOAD_MAXSIZE": 32 << 20,
        "DOWNLOAD_WARNSIZE": 0,
        "LOG_LEVEL": "INFO",
        "ROBOTSTXT_OBEY": False,
    }
    with running(sites) as roots:
        yield crawl("tests.crawl.odd_spiders.PagesSpider", settings=settings, pages=",".join(roots.values()))


def test_every_body_arrives_complete(result: Crawl) -> None:
    """0.6 GB in all; none is lost, or given up because it had to wait."""
    assert sorted(item["size"] for item in result.items) == sorted(size << 20 for size in SIZES.values())
    assert result.stat("downloader/bodies_given_up") == 0
    assert result.stat("frontier/failures/timeout") == 0
    assert result.stat("retry/count") == 0, result.log
    assert result.stat("finish_reason") == "finished"


def test_memory_is_bounded(result: Crawl) -> None:
    """By the peak of the crawl's own process; without the bound it would hold most of them."""
    assert result.stat("downloader/bodies_paused") > 0
    assert 0 < result.peak_memory <= 300_000_000
