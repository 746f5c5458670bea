"""The repository after crawls: read by other software, and compared with what the servers sent."""

import gzip
import math
import random
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator

from crawlproject.repository import PageIndex, PageRow, WarcFiles
from testbed.web import WebSpec, running_web
from tests.crawl.crawling import IMPOLITE, crawl, crawling
from tests.crawl.nasty_server import response as raw_response
from tests.crawl.nasty_server import running
from tests.crawl.scripted_site import Answer, Asked, page, scripted_site
from tests.crawl.test_resume import fetched
from tests.processes import run_python
from tests.waiting import until

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.resumable_spiders"
CRASHES = 3


def settings_for(folder: Path, **more: object) -> dict[str, object]:
    """A repository in ``folder``."""
    return {"LOG_LEVEL": "INFO", **IMPOLITE, "FRONTIER_REPOSITORY_DIR": str(folder / "repository"), **more}


def rows(folder: Path) -> list[PageRow]:
    with PageIndex(folder / "repository", read_only=True) as index:
        return list(index.rows())


def archived(folder: Path) -> Iterator[Any]:
    """All records of the finished files, as warcio reads them: (type, headers, HTTP headers, payload as stored)."""
    for path in WarcFiles(folder / "repository").finished():
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                yield record.rec_type, record.rec_headers, record.http_headers, record.raw_stream.read()


def fetch(url: str) -> tuple[int, bytes]:
    """What a server answers to anybody."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: object) -> None:
            return None

    try:
        with urllib.request.build_opener(Stay).open(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_every_answer_is_kept_as_received(tmp_path: Path) -> None:
    """Pages, redirects, errors and robots.txt: a record for each answer, with the payload that the server sent."""
    spec = WebSpec(servers=8, pages=120, seed=3, time_scale=0, redirect_share=0.1, server_error_share=0.1)
    settings = settings_for(
        tmp_path,
        ROBOTSTXT_OBEY=True,
        TEST_CONSTANTS={"crawlproject.options.records.RepositorySettings.file_size": 150_000},
        FRONTIER_MIN_BACKOFF=0.01,
        FRONTIER_MAX_BACKOFF=0.1,
    )
    with running_web(spec) as web:
        result = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
        served = Counter((each.server, each.target, each.status) for each in web.records() if each.kind == "request")
        found = rows(tmp_path)
        bodies = {row.url: fetch(row.url)[1] for row in found if row.status in (200, 404)}
    parts = [(urlsplit(row.url), row.status) for row in found]
    assert (
        Counter((url.hostname, url.path + "?" * bool(url.query) + url.query, status) for url, status in parts) == served
    )
    assert {301, 302, 404, 500} & {row.status for row in found} >= {404}
    assert result.stat("repository/files") > 1
    kinds: Counter[str] = Counter()
    for kind, headers, _, payload in archived(tmp_path):
        kinds[kind] += 1
        url = headers["WARC-Target-URI"]
        if kind == "response" and url in bodies:
            assert payload == bodies[url]
    assert all(result.stat(f"repository/records/{kind}") == count for kind, count in kinds.items())
    assert kinds["response"] + kinds["revisit"] == kinds["request"] == kinds["metadata"] == len(found)
    assert all(row.length == len(bodies[row.url]) for row in found if row.url in bodies)
    assert all(row.response_time is not None and row.server and row.depth is not None for row in found)


def test_requests_are_recorded_as_they_were_sent(tmp_path: Path) -> None:
    """Every header that the server saw, and the body of a POST; also over TLS."""
    with scripted_site(2, tls=(2,)) as site:
        site.script = {"1/": page("/a", site.url("2/b")), "1/a": page(), "2/b": page()}
        crawl("tests.crawl.spiders.PostingSpider", settings=settings_for(tmp_path), seed=site.url("1/"))
        seen = {(site.url(asked.place), asked.method): asked for asked in site.asked}
    found = [(headers, http, payload) for kind, headers, http, payload in archived(tmp_path) if kind == "request"]
    assert len(found) == len(seen) == 4
    for headers, http, payload in found:
        asked = seen[headers["WARC-Target-URI"], http.protocol]
        assert {name.lower(): value for name, value in http.headers} == asked.headers
        assert http.statusline == f"{asked.path} HTTP/1.1"
        assert payload.decode() == asked.body
    assert {asked.body for asked in seen.values()} == {"", "posted"}
    answers = [headers for kind, headers, _, _ in archived(tmp_path) if kind in ("response", "revisit")]
    protocols = {
        (urlsplit(headers["WARC-Target-URI"]).scheme, value.partition(".")[0])
        for headers in answers
        for name, value in headers.headers
        if name == "WARC-Protocol"
    }
    assert protocols == {("http", "http/1"), ("https", "http/1"), ("https", "tls/1")}
    assert {row.tls_time is not None for row in rows(tmp_path) if row.url.startswith("https")} == {True}


def test_bodies_are_kept_as_received_except_for_the_transfer_coding(tmp_path: Path) -> None:
    """Compressed bodies stay compressed; chunks are joined and the header renamed; truncated bodies are marked."""
    text = b"<p>" + b"hello " * 50
    packed = gzip.compress(text)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:20], packed[20:])) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 Fine by me\r\nContent-Type: text/html\r\nx-odd-CASE: 1\r\nX-Odd-Case: \xff2\r\n"
    answers = {
        "/chunked": (head + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,),
        "/cut": (head + b"Content-Length: 999\r\n\r\n" + text, "close"),
        "/": (raw_response('<a href="/chunked">1</a><a href="/cut">2</a>'),),
    }
    settings = settings_for(tmp_path, DOWNLOAD_FAIL_ON_DATALOSS=False)
    with running({"site": answers}) as roots:
        crawl(WEB, settings=settings, seeds=f"{roots['site']}/")
    found = {
        urlsplit(headers["WARC-Target-URI"]).path: (headers, http, payload)
        for kind, headers, http, payload in archived(tmp_path)
        if kind == "response"
    }
    headers, http, payload = found["/chunked"]
    assert payload == packed
    assert http.statusline == "200 Fine by me"
    assert http.headers == [
        ("Content-Type", "text/html"),
        ("x-odd-CASE", "1"),
        ("X-Odd-Case", "\xff2"),
        ("Content-Encoding", "gzip"),
        ("X-Archive-Orig-Transfer-Encoding", "chunked"),
    ]
    assert found["/cut"][0]["WARC-Truncated"] == "disconnect"
    assert found["/cut"][2] == text
    assert headers["WARC-Truncated"] is None
    command = ("-m", "scrapy", "repository", "get", f"{roots['site']}/chunked", str(tmp_path / "repository"))
    assert run_python(*command, text=False).stdout == text
    assert run_python(*command, "--raw", text=False).stdout == packed


def test_answers_from_a_cache_are_not_kept(tmp_path: Path) -> None:
    """Only answers from the network; if the cache revalidates a page, the 304 is kept as a revisit."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match") == '"1"':
            return Answer(status=304, headers={"ETag": '"1"'})
        return Answer("<p>cached", headers={"Content-Type": "text/html", "ETag": '"1"', "Cache-Control": "max-age=0"})

    settings = settings_for(
        tmp_path,
        HTTPCACHE_ENABLED=True,
        HTTPCACHE_DIR=str(tmp_path / "cache"),
        HTTPCACHE_POLICY="scrapy.extensions.httpcache.RFC2616Policy",
    )
    with scripted_site() as site:
        site.script = {"1/": answer, "1/fresh": Answer("<p>x", headers={"Cache-Control": "max-age=9999"})}
        seeds = f"{site.url('1/')},{site.url('1/fresh')}"
        results = [crawl(WEB, settings=settings, seeds=seeds) for _ in range(2)]
        assert site.places() == ["1/", "1/fresh", "1/"]
    assert [result.stat("httpcache/revalidate") for result in results] == [0, 1]
    kinds = [
        (kind, http.get_statuscode()) for kind, _, http, _ in archived(tmp_path) if kind in ("response", "revisit")
    ]
    assert kinds == [("response", "200"), ("response", "200"), ("revisit", "304")]
    revisit = next(headers for kind, headers, _, _ in archived(tmp_path) if kind == "revisit")
    assert revisit["WARC-Profile"].endswith("/server-not-modified")
    assert revisit["WARC-Refers-To-Target-URI"] == site.url("1/")


def test_no_page_is_acknowledged_without_its_record(tmp_path: Path) -> None:
    """After repeated kill -9 every page has a record, although acknowledged pages are not fetched again."""
    chance = random.Random(CRASHES)
    spec = WebSpec(servers=20, pages=300, seed=5, time_scale=0.05)
    more = {"JOBDIR": str(tmp_path / "job"), "FRONTIER_COMMIT_INTERVAL": 0.05, "FRONTIER_MAX_SESSIONS": 8}
    settings = settings_for(tmp_path, **more)
    kills = 0
    with running_web(spec) as web:
        for number in range(CRASHES):
            records = web.records()
            given = sum(bool(each.page) for each in records if each.kind == "request")
            web.limit(given + 280 - len(fetched(records)))  # so it never ends before the kill
            with crawling(WEB, tmp_path, settings=settings, seeds=",".join(web.seeds)) as process:
                pages = min(250, (number + 1) * 40 + chance.randrange(40))
                until(lambda pages=pages: len(fetched(web.records())) >= pages, process)  # type: ignore[misc]
                process.kill()
                kills += process.wait() == -signal.SIGKILL
        web.limit(math.inf)
        result = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
        asked_for = len(fetched(web.records()))
    assert kills == CRASHES
    assert result.stat("finish_reason") == "finished", result.log[-3000:]
    assert result.stat("repository/repaired") >= 1
    found = rows(tmp_path)
    expected = set(web.web.expected_urls())
    assert asked_for == len(expected)
    assert {row.url for row in found if row.status == 200} >= expected
    assert len(result.items) < len(expected), "the last crawl had fetched all again"
    in_files = [
        headers["WARC-Target-URI"] for kind, headers, _, _ in archived(tmp_path) if kind in ("response", "revisit")
    ]
    assert sorted(in_files) == sorted(row.url for row in found)
    assert not list((tmp_path / "repository").glob("*.open"))


def test_full_disk_ends_the_crawl_and_no_page_is_lost(tmp_path: Path) -> None:
    """It ends with a reason; pages without a record stay in the frontier for the next crawl."""
    spec = WebSpec(servers=6, pages=60, seed=6, time_scale=0, page_bytes=40_000)
    settings = settings_for(tmp_path, JOBDIR=str(tmp_path / "job"), FRONTIER_MAX_SESSIONS=3)
    with running_web(spec) as web:
        first = crawl(f"{SPIDERS}.FullDiskSpider", settings=settings, seeds=",".join(web.seeds))
        assert first.log.count("The repository cannot be written, the crawl ends: ") == 1
        assert "repository_failed" in first.log
        label = tmp_path / "job" / "frontier" / "store.json"
        label.write_text(label.read_text().replace('"full"', '"web"'))
        second = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
    assert second.stat("finish_reason") == "finished"
    assert {row.url for row in rows(tmp_path) if row.status == 200} == set(web.web.expected_urls())
    for _ in archived(tmp_path):
        pass  # every file is complete
