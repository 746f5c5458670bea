"""What becomes of pages over recrawls and crashes, against a dict."""

import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.backends.disk import Recrawl
from crawlproject.frontier import POLICIES, Entry, Frontier, Politeness
from crawlproject.requests.codec import RequestCodec
from crawlproject.scheduler import FrontierScheduler
from crawlproject.spiders.web import WebSpider
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.urls import Canonicalizer

QUEUED = "queued"
URLS = [f"http://{host}.example{path}" for host in "ab" for path in ("/", "/x", "?q=1", "/long/" + "y" * 50)]


class RecrawlMachine(RuleBasedStateMachine):
    """A URL is unknown, queued (with the ETag that it had, if any), or fetched (with the one that it has)."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = count(1.0)
        self.queued: dict[str, str | None] = {}
        self.fetched: dict[str, str] = {}
        self.committed: tuple[dict[str, str | None], dict[str, str]] = {}, {}
        self.open()

    def open(self) -> None:
        self.store = DiskStore(Path(self.folder.name), StoreLabel("web", "quality"))
        self.servers = DiskFrontierStore(self.store, 0.0)
        politeness = Politeness(factor=0, min_delay=0, max_delay=0)
        self.frontier = Frontier(POLICIES["quality"](), politeness, max_failures=0)
        self.servers.load(self.frontier, next(self.clock))
        crawler = get_crawler(WebSpider)
        codec = RequestCodec(WebSpider(seeds="http://a.example/"))
        self.recrawl = Recrawl(crawler, self.store, self.servers, codec, Canonicalizer())

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(url=st.sampled_from(URLS), quality=st.floats(0, 8, width=32))
    def discover(self, url: str, quality: float) -> None:
        if url not in self.queued and url not in self.fetched:
            self.frontier.push([Entry(url, quality)])
            self.queued[url] = None

    @precondition(lambda self: self.queued)
    @rule(status=st.sampled_from((200, 200, 304, 301, 404, 410, 500, 0)), etag=st.sampled_from(("", '"v1"', '"v2"')))
    def fetch(self, status: int, etag: str) -> None:
        """The next page, with any answer or none."""
        now = next(self.clock)
        session = self.frontier.open_session(now)
        assert session is not None
        entry = self.frontier.next_url(session, now)
        assert entry is not None
        request = Request(entry.url)
        if status:
            self.recrawl.answered(request, Response(entry.url, status, {"ETag": etag} if etag else {}))
        self.recrawl.acknowledged(request, entry)
        self.frontier.acknowledge(entry)
        self.frontier.close_session(session, now)
        before = self.queued.pop(entry.url)
        after = {200: etag, 304: etag or before or "", 301: "", 404: None, 410: None}.get(status, before)
        if after is not None:
            self.fetched[entry.url] = after

    @rule()
    def commit(self) -> None:
        """What is there now outlives a crash, and is what the store lists."""
        self.store.commit()
        self.committed = dict(self.queued), dict(self.fetched)
        stored = {}
        for number, path, page in DiskFetchedPages(self.store).stored():
            server = self.servers.server(number)
            assert server is not None
            stored[server.key + path if path.startswith("/") else path] = page.etag.decode()
        assert stored == self.fetched

    @rule(again=st.booleans())
    def crash(self, again: bool) -> None:
        """What was not committed is as it was before; then perhaps all that was fetched is queued again."""
        self.store.close()
        self.queued, self.fetched = map(dict, self.committed)  # type: ignore[assignment]
        self.open()
        if again:
            self.recrawl.put_back(self.frontier, 0)
            self.queued |= self.fetched
            self.fetched = {}
            self.committed = dict(self.queued), {}

    @invariant()
    def queue_is_the_models(self) -> None:
        """No URL is queued twice."""
        assert len(self.frontier) == len(self.queued)


RecrawlMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
test_pages_over_recrawls_and_crashes = RecrawlMachine.TestCase


def test_pages_put_back_are_off_their_servers_count_in_the_same_commit(tmp_path: Path) -> None:
    """Else a killed recrawl of a server with a limit on its pages would never go on: it would be full."""

    def opened() -> tuple[Frontier, DiskFrontierStore, DiskStore]:
        store = DiskStore(tmp_path, StoreLabel("web", "quality"))
        servers = DiskFrontierStore(store, 0.0)
        frontier = Frontier(POLICIES["quality"](), Politeness())
        servers.load(frontier, 0.0)
        return frontier, servers, store

    frontier, servers, store = opened()
    codec = RequestCodec(WebSpider(seeds="http://a.example/"))
    for number in range(3):
        frontier.page_fetched("http://a.example", 3)
        frontier.drops.take()
        DiskFetchedPages(store).put(0, f"/{number}", FetchedPage(fetched=1))
    store.commit()
    store.close()
    frontier, servers, store = opened()
    Recrawl(get_crawler(WebSpider), store, servers, codec, Canonicalizer()).put_back(frontier, 0)
    store.close()  # as a kill does: without a commit
    frontier, servers, store = opened()
    server = frontier.server("http://a.example")
    assert server is not None
    assert (len(frontier), server.fetched) == (3, 0)
    store.close()


@pytest.mark.parametrize("attribute", [True, False, ["/news"]])
def test_an_attribute_of_a_projects_spider_is_no_age(attribute: object) -> None:
    """The argument ``recrawl`` is a text or a number; a crawl in memory starts, and fetches nothing again."""
    crawler = get_crawler()
    crawler.spider = Spider("own", recrawl=attribute)
    FrontierScheduler.from_crawler(crawler)
