"""A web of servers and pages, and what the workers do to it: which pages were fetched, by whom, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.workers.model.simulation import Simulation


@dataclass(frozen=True)
class Page:
    """Seconds that it takes, and the URLs of its links."""

    number: int
    server: str
    url: str
    seconds: float
    links: list[str] = field(default_factory=list)


class Web:
    """``servers`` of ``pages`` pages each, all linked; ``slow``: the longest that a page takes, seconds.

    ``repeats``: links of each page beside those by which pages are reached; a lost link may be found again by them.
    """

    def __init__(self, random: Random, servers: int, pages: int, slow: float, repeats: int = 2) -> None:
        self.pages: dict[str, Page] = {}
        names = [f"http://www.d{number}.com" for number in range(servers)]
        for name in names:
            for path in range(pages):
                seconds = random.uniform(0.5, slow) if random.random() < 0.04 else random.uniform(0.1, 1.5)
                url = f"{name}/{path}"
                self.pages[url] = Page(len(self.pages), name, url, seconds)
        #: Servers that the operator has blocked.
        self.blocked: frozenset[str] = frozenset()
        self.urls = list(self.pages)
        self.seeds = [f"{name}/0" for name in names[:2]]
        self._link(random, names, pages, repeats)

    def _link(self, random: Random, names: list[str], pages: int, repeats: int) -> None:
        """Each page is reached over one link only, most of them from another server; others repeat."""
        reached = list(self.seeds)
        rest = [f"{name}/0" for name in names[2:]] + [f"{name}/{path}" for path in range(1, pages) for name in names]
        for url in rest:
            source = random.choice(reached[-60:])
            self.pages[source].links.append(url)
            reached.append(url)
        for page in self.pages.values():
            page.links.extend(random.choice(self.urls) for _ in range(repeats))
            random.shuffle(page.links)

    def allowed(self, blocked: frozenset[str] = frozenset()) -> set[str]:
        """URLs to which links lead over servers that are not blocked."""
        blocked |= self.blocked
        found, waiting = set[str](), list(self.seeds)
        while waiting:
            page = self.pages[waiting.pop()]
            if page.url not in found and page.server not in blocked:
                found.add(page.url)
                waiting += page.links
        return found


@dataclass(eq=False)
class Fetch:
    """A request, from its start until the server has answered, or the connection was closed."""

    page: Page
    worker: str
    at: float
    is_over: bool = False


class Observer:
    """Sees all requests, and what Redis knows of them; collects what must not be."""

    def __init__(self, simulation: Simulation, web: Web) -> None:
        self._simulation = simulation
        self._web = web
        self._under_way: dict[str, Fetch] = {}
        #: Pages fetched to the end, by URL: how often.
        self.fetched: dict[str, int] = {}
        #: Whether Redis knows that the page of a number is done.
        self.is_done: Callable[[int], bool] = lambda _: False
        self.errors: list[str] = []

    def error(self, text: str) -> None:
        self._simulation.note(f"ERROR: {text}")
        self.errors.append(f"{self._simulation.now:.3f} {text}")

    def started(self, page: Page, worker: str) -> Fetch:
        other = self._under_way.get(page.server)
        if other is not None and not other.is_over:
            self.error(f"{worker} fetches {page.url}, {other.worker} {other.page.url} since {other.at:.3f}")
        if page.server in self._web.blocked:
            self.error(f"{worker} fetches {page.url}, whose server is blocked")
        if self.is_done(page.number):
            self.error(f"{worker} fetches {page.url}, which Redis knows to be done")
        self._simulation.note(f"{worker} fetches {page.url}")
        fetch = self._under_way[page.server] = Fetch(page, worker, self._simulation.now)
        self._simulation.after(page.seconds, lambda: self.ended(fetch))
        return fetch

    def last(self, server: str) -> Fetch | None:
        return self._under_way.get(server)

    def ended(self, fetch: Fetch) -> None:
        """The connection serves no request any more."""
        fetch.is_over = True

    def processed(self, page: Page) -> None:
        self._simulation.note(f"processed {page.url}")
        self.fetched[page.url] = self.fetched.get(page.url, 0) + 1

    def missing(self, blocked: frozenset[str] = frozenset()) -> list[str]:
        """Pages never fetched, without those that only blocked servers lead to."""
        allowed = self._web.allowed(blocked)
        return [url for url in self._web.urls if url in allowed and url not in self.fetched]
