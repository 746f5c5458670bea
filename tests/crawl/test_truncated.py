"""Answers that are cut in their middle are kept as half a page, and not taken for a whole one."""

import gzip
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import brotli
import pytest
from scrapy.utils._compression import zstd  # type: ignore[attr-defined]

from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import CLOSE, RESET, Script, page, response, running
from tests.crawl.test_repository import rows

WEB = "crawlproject.spiders.web.WebSpider"
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "1"\r\nLast-Modified: Tue, 03 Jan 2023 10:00:00 GMT\r\n'
HTML = b"".join(b"<p>%d</p>" % number for number in range(40_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),  # the highest takes a second
    "zstd": zstd.compress,
}


def _unsized(body: bytes, end: str, *lines: bytes) -> Script:
    return (HEAD + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body, end)


def _packed(coding: str, content: bytes, part: float, *, sized: bool) -> Script:
    body = PACKERS[coding](content)
    body = body[: int(part * len(body))]
    lines = [b"Content-Encoding: " + coding.encode()]
    if sized:
        lines.append(b"Content-Length: %d" % len(body))
    return _unsized(body, CLOSE, *lines)


@cache
def cut() -> dict[str, tuple[Script, str]]:
    """Path -> answer, and WARC-Truncated."""
    return {
        "/reset": (_unsized(HTML[:9_000], RESET), "disconnect"),
        "/short": (_unsized(HTML[:9_000], CLOSE, b"Content-Length: 99999"), "disconnect"),
        "/chunk": (_unsized(b"2000\r\n" + HTML[:0x1000], CLOSE, b"Transfer-Encoding: chunked"), "disconnect"),
        **{f"/{coding}": (_packed(coding, HTML, 0.5, sized=True), "unspecified") for coding in PACKERS},
        **{f"/{coding}-unsized": (_packed(coding, HTML, 0.9, sized=False), "unspecified") for coding in PACKERS},
    }


@cache
def whole() -> dict[str, Script]:
    return {
        "/closed": _unsized(HTML, CLOSE),
        "/sized": _unsized(HTML, CLOSE, b"Content-Length: %d" % len(HTML)),
        **{f"/whole-{coding}": _packed(coding, HTML, 1, sized=False) for coding in PACKERS},
        "/two-members": _unsized(gzip.compress(HTML) + gzip.compress(HTML), CLOSE, b"Content-Encoding: gzip"),
        "/padded": _unsized(gzip.compress(HTML) + bytes(8), CLOSE, b"Content-Encoding: gzip"),
    }


def test_half_a_page_is_known_as_such(tmp_path: Path) -> None:
    """It is read, a recrawl fetches it in full, and its record says that it is truncated."""
    scripts = {path: script for path, (script, _) in cut().items()} | whole()
    settings = {
        **IMPOLITE,
        "DOWNLOAD_FAIL_ON_DATALOSS": False,
        "JOBDIR": str(tmp_path / "job"),
        "FRONTIER_REPOSITORY_DIR": str(tmp_path / "repository"),
    }
    with running({"site": {"/": (response(page(*scripts)),), **scripts}}) as roots:
        result = crawl(WEB, settings=settings, seeds=f"{roots['site']}/", body="1")
    items = {item["url"].removeprefix(roots["site"]): item for item in result.items}
    assert set(items) == {"/", *scripts}, result.log
    for path in cut():
        assert "<p>100</p>" in items[path]["body"], path
        assert "<p>39999</p>" not in items[path]["body"], path
    assert all("<p>39999</p>" in items[path]["body"] for path in whole())
    assert result.stat("frontier/failures/truncated_body") == 3
    assert result.stat("httpcompression/truncated") == 2 * len(PACKERS)
    truncated = {row.url.removeprefix(roots["site"]): row.truncated for row in rows(tmp_path)}
    assert {path: reason for path, reason in truncated.items() if reason} == {
        path: reason for path, (_, reason) in cut().items()
    }
    with DiskStore(tmp_path / "job" / "frontier", StoreLabel("web", "quality")) as store:
        stored = {path: (bool(one.etag), bool(one.modified)) for _, path, one in DiskFetchedPages(store).stored()}
    assert {path for path, validators in stored.items() if any(validators)} == set(whole())


RULES = b"User-agent: *\nDisallow: /a\n" + b"#\n" * 3_000 + b"Disallow: /private\n"
CUT_RULES: dict[str, Script] = {
    "reset": _unsized(RULES[:2_000], RESET),
    **{coding: _packed(coding, RULES, 0.9, sized=True) for coding in PACKERS},
    "in the header of gzip": (HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(RULES)[:12], CLOSE),
}


@pytest.mark.parametrize("is_cut", [True, False])
def test_half_a_robots_txt_allows_nothing(is_cut: bool) -> None:
    """Its other half may forbid what this one allows. The same files are obeyed if they are whole."""
    rules = CUT_RULES if is_cut else {"closed": _unsized(RULES, CLOSE), "gzip": _packed("gzip", RULES, 1, sized=False)}
    with running({name: {"/robots.txt": script} for name, script in rules.items()}) as roots:
        seeds = ",".join(f"{root}/{path}" for root in roots.values() for path in ("private", "free"))
        result = crawl(
            WEB, settings={**IMPOLITE, "ROBOTSTXT_OBEY": True, "FRONTIER_ROBOTS_MAX_FAILURES": 1}, seeds=seeds
        )
    free = set() if is_cut else {f"{root}/free" for root in roots.values()}
    assert set(result.urls()) == free, result.log
    assert result.stat("robotstxt/given_up") == (len(rules) if is_cut else 0)


#: Entity tags, and whether they are sent back.
TAGS = {
    **dict.fromkeys(('"a"', 'W/"a"', '""', '"a,b\xe9"', '"a b"'), True),
    **dict.fromkeys(("*", "a", '"a', '"a", "b"', 'w/"a"'), False),
}


def test_only_valid_entity_tags_are_sent_back(tmp_path: Path) -> None:
    """``*`` would match any page, so that it is never fetched again."""
    pages = {f"/{number}": (response(page(), f"ETag: {tag}"),) for number, tag in enumerate(TAGS)}
    with running({"site": {"/": (response(page(*pages)),), **pages}}) as roots:
        crawl(WEB, settings={**IMPOLITE, "JOBDIR": str(tmp_path)}, seeds=f"{roots['site']}/")
    with DiskStore(tmp_path / "frontier", StoreLabel("web", "quality")) as store:
        stored = {path: one.etag.decode("latin-1") for _, path, one in DiskFetchedPages(store).stored()}
    assert [stored[path] for path in pages] == [tag if is_sent else "" for tag, is_sent in TAGS.items()]
