"""What workers send each other: links and requests, on both ends."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from crawlproject.discovery.discovery import RECEIVED_STEP
from crawlproject.discovery.skipped_files import PROBED, WAITING
from crawlproject.frontier import Entry
from crawlproject.frontier.queues.sort_key import DEMOTED
from crawlproject.links import Links
from tests.backends.worker import OtherWorker, Worker

OWN, FOREIGN = "http://a.example/", "http://b.example/"


def push(worker: Worker, *hrefs: str, page: str = OWN, **kwargs: Any) -> None:
    """The links of a page that the worker fetched."""
    response = HtmlResponse(page, request=Request(page, meta={"depth": 1, "quality": 1.0}))
    for _ in worker.scheduler._discovery.push_links(Links(response, hrefs, **kwargs)):
        pass


def queued(worker: Worker, url: str) -> Entry:
    """The entry of the only queued URL."""
    assert len(worker.scheduler) == 1
    worker.scheduler.crawl.admit()
    session = worker.scheduler._frontier.open_session(1e9)
    assert session is not None
    entry = worker.scheduler._frontier.next_url(session, 1e9)
    assert entry is not None
    assert entry.url == url
    return entry


def test_a_link_travels_to_the_worker_of_its_server() -> None:
    """With callback, depth and quality; there it is queued as one found there."""
    one, other = Worker(), Worker(OtherWorker)
    push(one, f"{FOREIGN}x", callback=one.crawler.spider.parse_other)
    other.receive(*one.sent)
    entry = queued(other, f"{FOREIGN}x")
    assert (entry.quality, entry.depth) == (3.0, 2)
    assert other.backend.unpack(entry).callback == other.crawler.spider.parse_other
    assert other.stats("frontier/received", "frontier/received/new", "scheduler/enqueued") == [1, 1, 1]
    assert one.stats("frontier/links/sent", "scheduler/enqueued") == [1, 0]


def test_a_known_link_raises_the_quality_of_its_url() -> None:
    """By what its page adds, not by what each page is worth anyway; a seed adds nothing."""
    one, other = Worker(), Worker(OtherWorker)
    push(one, FOREIGN)
    push(other, FOREIGN, page=f"{FOREIGN}page")
    other.receive(*one.sent, Entry(FOREIGN, quality=9.0))
    assert queued(other, FOREIGN).quality == 2.0 + 2.0
    assert other.stats("frontier/received/new", "frontier/received/seen") == [0, 2]


def test_some_repeated_links_are_sent_for_all() -> None:
    """The eighth link to a URL is sent for those before as well: they add as much as they would in one worker."""
    one, other = Worker(), Worker(OtherWorker)
    for number in range(8):
        push(one, FOREIGN, FOREIGN, page=f"{OWN}{number}")
    other.receive(*one.sent)
    assert [entry.quality for entry in one.sent] == [1.0 + 2.0, 1.0 + 7 * 2.0]
    assert queued(other, FOREIGN).quality == 1.0 + 8 * 2.0
    assert one.stats("frontier/links/found", "frontier/links/sent", "frontier/links/seen") == [16, 2, 14]


def test_repeated_links_that_add_nothing_are_not_sent() -> None:
    """As those of a sitemap, or if the quality does not depend on links."""
    one = Worker(FRONTIER_QUALITY="depth")
    for number in range(4):
        push(one, FOREIGN, page=f"{OWN}{number}")
    assert len(one.sent) == 1


@pytest.mark.parametrize(
    "entry",
    [
        Entry("no server"),
        Entry(FOREIGN, quality=float("nan")),
        Entry(FOREIGN, quality=-1.0),
        Entry(FOREIGN, quality=None),  # type: ignore[arg-type]
        Entry(b"http://b.example/"),  # type: ignore[arg-type]
        Entry(FOREIGN, depth="1"),  # type: ignore[arg-type]
        Entry(FOREIGN, depth=-1),
        Entry(FOREIGN, depth=1 << 40),
        Entry(FOREIGN, priority=1 << 40),
        Entry(FOREIGN, payload={}),
        Entry(FOREIGN, payload=b"cno_such_method"),
        Entry(FOREIGN, payload=b"?"),
        Entry(FOREIGN, payload=b"r{"),
        Entry(FOREIGN, payload=b"r[1]"),
        Entry(FOREIGN, payload=b'r{"headers":7}'),
    ],
)
def test_what_cannot_be_read_costs_a_stat_and_a_line(entry: Entry, caplog: pytest.LogCaptureFixture) -> None:
    """One line in all; the others are queued."""
    other = Worker(OtherWorker)
    with caplog.at_level(logging.WARNING):
        other.receive(entry, entry, Entry(f"{FOREIGN}fine"))
    assert other.stats("frontier/received", "frontier/received/bad", "frontier/received/new") == [3, 2, 1]
    assert len([record for record in caplog.records if "cannot be read" in record.getMessage()]) == 1


def test_links_whose_callback_cannot_be_written_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    """Counted; one line in all. Those to own servers are queued."""
    one = Worker()
    for number in range(2):
        push(one, f"{OWN}{number}", f"{FOREIGN}{number}", f"{FOREIGN}{number}x", callback=lambda _: None)
    assert one.sent == []
    assert one.stats("fates/link/unserializable", "frontier/links/new") == [4, 2]
    assert len([record for record in caplog.records if "are lost" in record.getMessage()]) == 1


def test_links_to_full_servers_are_counted_only() -> None:
    """As those found here."""
    other = Worker(OtherWorker, FRONTIER_MAX_PAGES_PER_SERVER=1)
    other.scheduler.crawl.intake.page_fetched("http://b.example", 1.0)
    other.receive(Entry(FOREIGN))
    assert len(other.scheduler) == 0
    assert other.stats("fates/link/page_limit", "frontier/received/new") == [1, 0]


def test_the_guard_of_the_receiver_judges() -> None:
    """URLs that are doubted by their form come last; a worker has no knowledge of others' servers."""
    one, other = Worker(), Worker(OtherWorker)
    url = f"{FOREIGN}{'x/' * 30}"
    push(one, url)
    assert one.sent[0].quality == 3.0
    other.receive(*one.sent)
    entry = queued(other, url)
    assert entry.priority == DEMOTED
    assert entry.quality < 1e-6


def test_the_receiver_rates_files() -> None:
    """It knows how many it has asked its server for."""
    one, other = Worker(), Worker(OtherWorker)
    push(one, *(f"{FOREIGN}{number}.pdf" for number in range(4)))
    other.receive(*one.sent)
    frontier = other.scheduler._frontier
    other.scheduler.crawl.admit()
    session = frontier.open_session(1e9)
    assert session is not None
    found = [frontier.next_url(session, 1e9) for _ in range(4)]
    assert [entry.quality for entry in found if entry is not None] == [3.0 * PROBED] * 3 + [3.0 * WAITING]


def test_much_is_received_in_steps() -> None:
    """The event loop has its turn between them."""
    other = Worker(OtherWorker)
    entries = [Entry(f"{FOREIGN}{number}") for number in range(2 * RECEIVED_STEP)]
    seen = [len(other.scheduler) for _ in other.backend.receive(entries)]
    assert seen == [RECEIVED_STEP]
    assert len(other.scheduler) == 2 * RECEIVED_STEP
    assert list(other.backend.receive([])) == []


def test_pages_are_worth_the_new_urls_that_are_sent() -> None:
    """By the share of those received that were new."""

    def bonus(share: float) -> float:
        one = Worker(FRONTIER_POLICY="prefix")
        one.scheduler._discovery.new_share.learn(1_000_000, int(share * 1_000_000))
        push(one, f"{OWN}1", *(f"{FOREIGN}{number}" for number in range(8)))
        server = one.scheduler._frontier.server("http://a.example")
        assert server is not None
        assert server.found is not None
        return server.found.new

    assert bonus(1.0) == pytest.approx(9.0)
    assert bonus(0.25) == pytest.approx(3.0)
