"""What was learned decides after a kill -9 as it did before (docs/resume.md).

That each attribute is stored, or derived from those that are, is in ``tests/frontier/test_snapshot.py``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.content.page_marks import PageText, page_content
from crawlproject.discovery.skipped_files import SkippedFiles
from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.guard.far import End
from crawlproject.frontier.guard.judge import Guard, GuardedPage, Visit
from crawlproject.frontier.guard.patterns import GuardLimits
from crawlproject.frontier.queues.sort_key import DEMOTED
from crawlproject.options.following import LinkOptions
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore

A, B, NEW = (f"http://{name}.example" for name in ("a", "b", "new"))
POLITENESS = Politeness(mode="request", factor=10, min_delay=0.1, max_delay=60)


def fetch(frontier: Frontier, key: str, *, seconds: float = 0.1, failed: bool = False, status: int = 200) -> None:
    """A request to a server; at the clock's time 0, so that restarts are no matter."""
    frontier.record(
        Measurement(
            key,
            0.0,
            None if failed else status,
            failed,
            connect_time=seconds,
            response_time=seconds,
            fetch_time=seconds,
            connection_requests=3,
            server_closed=True,
        )
    )


def copies(frontier: Frontier, count: int) -> None:
    for _ in range(count):
        frontier.servers.learn_content(B, copy=True)


def of_new(frontier: Frontier) -> tuple[float, float]:
    """What a server never met is expected to take and to bring."""
    if frontier.server(NEW) is None:
        frontier.push([Entry(f"{NEW}/", 1.0)])
    server = frontier.server(NEW)
    assert server is not None
    frontier.servers.expect(server)
    return server.estimates.response_time, server.bonus


def best(frontier: Frontier) -> tuple[str, float]:
    """The URL of ``A`` that would be fetched next, and its worth."""
    server = frontier.server(A)
    assert server is not None
    (entry,) = server.urls.first(A, 1)
    return entry.url, entry.quality


def of(name: str, key: str = A) -> Callable[[Frontier], Any]:
    def get(frontier: Frontier) -> Any:
        value = frontier.server(key)
        for part in name.split("."):
            value = getattr(value, part)
        return value

    return get


def learn_sizes(frontier: Frontier) -> None:
    for url, size in ((f"{A}/a.pdf", 10**6), (f"{A}/a", 9)):
        frontier._expectations.sizes.learn(url, size)
    fetch(frontier, A)


def judge(frontier: Frontier, pages: int) -> GuardedPage:
    """Pages of one pattern of ``A`` that show the same, each with a link to the next; the last of them."""
    guard = Guard(GuardLimits(), frontier.server, lambda _: False)
    server = frontier.server(A)
    assert server is not None
    page = None
    for number in range(pages):
        page = guard.page(f"{A}/p/{number}", lambda _: page_content(A, PageText("No events")), Visit(was_last=DEMOTED))
        assert page is not None
        page.learn([f"{A}/p/{number + 1}"])
        for question in page.questions:
            server.guard.patterns[question.name].end = End.ENDLESS
    frontier.servers.changed(server)
    assert page is not None
    return page


def show_ids(frontier: Frontier) -> None:
    """Pages of ``A`` under two ids each, with the same text."""
    guard = Guard(GuardLimits(), frontier.server, lambda _: False)
    for number in range(20):
        for visit in "ab":
            guard.learn_part(f"{A}/{number}?sid=f3c9{visit}", None, is_page=True, shown=lambda number=number: number)
    frontier.servers.changed(frontier.server(A))


def files(frontier: Frontier, media: str, count: int = 3) -> None:
    """Answers of ``A`` to URLs that end like images."""
    for number in range(count):
        url = f"{A}/images/{number}.png"
        skipped(frontier).learn(Response(url, headers={"Content-Type": media}, request=Request(url)))


def skipped(frontier: Frontier) -> SkippedFiles:
    return SkippedFiles(frontier, get_crawler().stats, LinkOptions.from_settings(Settings()))


Learn = Callable[[Frontier], Any]

#: Learned -> how it is learned, and what it decides.
LEARNED: dict[str, tuple[Learn, Learn]] = {
    "times": (lambda f: fetch(f, A, seconds=2.0), of("expected_time")),
    "requests per connection": (lambda f: [fetch(f, A) for _ in range(9)], of("estimates.requests_per_connection")),
    "failures": (lambda f: fetch(f, A, failed=True), of("failures")),
    "polite wait": (lambda f: fetch(f, A, seconds=2.0), of("ready_at")),
    "crawl delay": (lambda f: f.servers.set_crawl_delay(A, 7.0), lambda f: f.server(A).wait_after(0.0, POLITENESS)),
    "given up": (lambda f: f.give_up(A), of("given_up")),
    "copies": (lambda f: copies(f, 5), of("worth", B)),
    "pattern, dropped": (
        lambda f: judge(f, 99),
        lambda f: f.server(A).guard is not None and "/p/#" in f.server(A).guard.spent,
    ),
    "pattern, suspected": (lambda f: judge(f, 5), lambda f: f.server(A).guard and f.server(A).guard.to_state()),
    "ids of visits": (
        show_ids,
        lambda f: f.server(A).guard is not None and f.server(A).guard.idle_parts.without(f"{A}/1?sid=7"),
    ),
    "kinds of files": (lambda f: files(f, "image/png"), lambda f: skipped(f).is_skipped(f"{A}/images/9.png")),
    "kinds of files that are pages": (
        lambda f: files(f, "text/html", 1),
        lambda f: skipped(f).factor(f"{A}/images/9.png"),
    ),
    "pages fetched": (lambda f: f.page_fetched(A, 0), of("fetched")),
    "pages of a wrong type": (lambda f: f.servers.learn_misfit(A), of("misfits")),
    "last error": (lambda f: f.servers.robots_failed(A, 0.0, error="refused"), of("last_error")),
    "failures of robots.txt": (lambda f: f.servers.robots_failed(A, 0.0), of("robots_failures")),
    "has answered": (lambda f: fetch(f, A), of("answered")),
    "all servers' times": (lambda f: [fetch(f, B, seconds=3.0) for _ in range(9)], of_new),
    "what links bring": (
        lambda f: [f.push([Entry(f"{B}/{n}/{len(f)}", 9.0) for n in range(9)], A) for _ in range(5)],
        lambda f: (f._expectations.look_ahead.bonus(f.server(A).found), f._expectations.sitemaps.worth),
    ),
    "what sitemaps bring": (
        lambda f: f.push([Entry(f"{B}/{n}/{len(f)}", 9.0) for n in range(9)], A, from_sitemap=True),
        lambda f: f._expectations.sitemaps.worth,
    ),
    "sizes of files": (
        learn_sizes,
        lambda f: f._expectations.sizes.relative(f"{A}/b.pdf"),
    ),
    "quality by links": (lambda f: f.raise_quality([(f"{A}/7", 5.0)]), best),
}


class OnDisk:
    """A frontier in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.open()

    def open(self) -> None:
        self.store = DiskStore(self._folder, StoreLabel("web", "quality"))
        self.frontier = Frontier(BestPrefix(), POLITENESS, max_batch=20, max_failures=30)
        DiskFrontierStore(self.store, 0.0, indexed=True).load(self.frontier, 0.0)


@pytest.mark.parametrize("name", LEARNED)
def test_learned_state_survives(tmp_path: Path, name: str) -> None:
    """As it was committed last; what a killed crawl learned after that is learned again, with the pages."""
    learn, decide = LEARNED[name]
    disk = OnDisk(tmp_path)
    disk.frontier.push([Entry(f"{server}/{number}", 1.0) for server in (A, B) for number in range(9)])
    disk.store.commit()
    fresh = decide(disk.frontier)
    learn(disk.frontier)
    disk.store.commit()
    before = decide(disk.frontier)
    assert before != fresh
    learn(disk.frontier)
    disk.store.close()  # as a kill does: without a commit
    disk.open()
    after = decide(disk.frontier)
    assert after == (pytest.approx(before) if isinstance(before, float) else before)
    disk.store.close()
