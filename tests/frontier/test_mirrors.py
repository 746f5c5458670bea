"""Evidence from copies: mirrors, and servers that repeat their pages in a circle."""

import pytest

from crawlproject.frontier import CapacityBased, Frontier, Politeness
from crawlproject.frontier.guard.copies import (
    MAX_CONTENTS,
    MAX_OTHERS,
    MIN_SHARED,
    MIN_TIMES,
    CopyRun,
    SharedPages,
    is_circle,
)
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.snapshot import restore_server, server_state

A, B, C = (f"http://{name}.example" for name in "abc")


def new_frontier() -> Frontier:
    return Frontier(CapacityBased(), Politeness())


class Crawl:
    """Pages of servers, as a frontier learns of them; ``stop`` puts another frontier in its place."""

    def __init__(self, own: int = 0) -> None:
        """``own``: pages of ``A``."""
        self.frontier = new_frontier()
        self.copies(A, A, 0, own=own)

    def copies(self, server: str, first: str, copies: int, own: int = 0) -> list[str]:
        """Copies of pages of ``first`` in their places, then pages of its own; the servers found to be mirrors."""
        found = []
        for _ in range(copies):
            self.frontier.servers.learn_content(server, copy=True)
            found.append(self.frontier.servers.learn_shared(server, first))
        for _ in range(own):
            self.frontier.servers.learn_content(server, copy=False)
        return [mirror for mirror in found if mirror is not None]

    def stop(self) -> None:
        """Continue with the stored state."""
        before, self.frontier = self.frontier, new_frontier()
        for server in before.servers:
            restore_server(self.frontier, server.key, UrlQueue(by_quality=True, window=1), server_state(server))


@pytest.fixture(params=[False, True], ids=["one run", "stopped"])
def stops(request: pytest.FixtureRequest) -> bool:
    """Whether the crawl is stopped in between."""
    return bool(request.param)


def test_the_later_server_is_found_once(stops: bool) -> None:
    """As soon as it has enough equal pages, in one run or two, and not again."""
    crawl = Crawl(own=100)
    found = crawl.copies(B, A, MIN_SHARED - 1)
    assert found == []
    if stops:
        crawl.stop()
    assert crawl.copies(B, A, 1) == [B]
    if stops:
        crawl.stop()
    assert crawl.copies(B, A, 3 * MIN_SHARED) == []


def test_few_equal_pages_of_many_are_no_mirror(stops: bool) -> None:
    """Twenty of a hundred prove nothing, even if the hundred were fetched before a restart."""
    crawl = Crawl(own=100)
    crawl.copies(B, A, 0, own=80)
    if stops:
        crawl.stop()
    assert crawl.copies(B, A, MIN_SHARED) == []


def test_the_smaller_one_counts() -> None:
    """If a large server has all pages of a small one, the one with more copies is the mirror."""
    crawl = Crawl()
    crawl.copies(B, B, 0, own=MIN_SHARED)
    assert crawl.copies(A, B, MIN_SHARED, own=500) == [A]


def test_crawled_side_by_side(stops: bool) -> None:
    """Some pages are fetched first from one, some from the other: together they are enough."""
    crawl = Crawl()
    for number in range(MIN_SHARED):
        server, first = (A, B) if number % 3 else (B, A)
        crawl.frontier.servers.learn_content(first, copy=False)
        if stops and number == 10:
            crawl.stop()
        assert crawl.copies(server, first, 1) == ([A] if number == MIN_SHARED - 1 else [])


def test_a_third_mirror_is_found_too() -> None:
    """All except the server that had the pages first."""
    crawl = Crawl(own=100)
    assert crawl.copies(B, A, 50) + crawl.copies(C, A, 50) == [B, C]


def test_other_servers_are_bounded() -> None:
    """The server with the fewest shared pages is evicted."""
    shared = SharedPages()
    for number in range(MAX_OTHERS):
        for _ in range(2 if number else 1):
            shared.add(str(number))
    shared.add("new")
    assert len(shared.to_state()["pages"]) == MAX_OTHERS
    assert (shared.count("0"), shared.count("1"), shared.count("new")) == (0, 2, 1)


def shown(frontier: Frontier, *contents: int) -> list[int]:
    """Counts of the copies that ``A`` shows, one after another."""
    times = []
    for content in contents:
        frontier.servers.learn_content(A, copy=True)
        times.append(frontier.servers.learn_copy(A, content))
    return times


def test_the_same_copies_again_and_again(stops: bool) -> None:
    """They are counted, also over a restart; one page, or a few in turn."""
    crawl = Crawl()
    assert shown(crawl.frontier, 7, 7, 8) == [1, 2, 1]
    if stops:
        crawl.stop()
    assert shown(crawl.frontier, 7, 8, 7, 8) == [1, 2, 2, 3]


def test_a_page_with_new_content_ends_the_run() -> None:
    """The pages behind the copies are not barren."""
    frontier = new_frontier()
    shown(frontier, 7, 7)
    frontier.servers.learn_content(A, copy=False)
    assert shown(frontier, 7) == [1]


def test_copied_trees_never_count(stops: bool) -> None:
    """However large they are, and however often a page occurs in each."""
    crawl = Crawl()
    for tree in range(3):
        for page in range(500):
            times = shown(crawl.frontier, 1000 + page, *[7] * (page % MIN_TIMES))
            assert max(times) < MIN_TIMES
        if stops and not tree:
            crawl.stop()


def test_contents_of_a_run_are_bounded() -> None:
    """The least recent content is evicted."""
    run = CopyRun()
    for content in range(3 * MAX_CONTENTS):
        run.add(content)
        run.add(0)
    assert len(run.to_state()["times"]) == MAX_CONTENTS
    assert [content for content, _ in run.to_state()["times"][-2:]] == [3 * MAX_CONTENTS - 1, 0]


@pytest.mark.parametrize(
    ("path", "link", "expected"),
    [
        ("/a/", "/a/a/", True),
        ("/x/a/b.html", "/x/a/a/b.html?y#z", True),
        ("/b/a/?q=1", "/b/a/a/", True),
        ("/", "/a/", False),
        ("/a/", "/a/b/", False),
        ("/a/index.html", "/a/index.html", False),
        ("/a/", "/a/", False),
        ("/a/", "/a", False),
        ("/ba/", "/ba/a/", False),
        ("/a/", "http://other.example/a/a/", False),
    ],
)
def test_links_that_lead_in_a_circle(path: str, link: str, expected: bool) -> None:
    """A page stands where one of its own links leads to."""
    assert is_circle(A + path, [None, A + link if link.startswith("/") else link]) is expected
