"""Walks a web with the trap guard, without sockets: shows in seconds which pages a crawl would fetch."""

from __future__ import annotations

from collections import Counter
from functools import partial
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.content.page_marks import NO_ADDRESSES, PageAddresses, PageText, page_content, shown_hash
from crawlproject.frontier import Entry, Server, UrlQueue
from crawlproject.frontier.guard.judge import Answer, Guard, GuardedPage, Question, Visit, demoted
from crawlproject.frontier.queues.sort_key import DEMOTED, OTHER_NAME, WAITING
from crawlproject.urls import Canonicalizer, extract, server_key
from tests.generated_sites import PLAIN, REDIRECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.content.page_marks import PageContent
    from crawlproject.frontier.guard.patterns import GuardLimits

ORDERS = ("breadth", "links", "depth")
CANONICAL = Canonicalizer()


class Shown(NamedTuple):
    """The answer of a walk's web to a URL."""

    #: Canonical URLs, in the order of the page.
    links: list[str]
    title: str | None = None
    text: str = ""
    media: Iterable[str] = ()
    #: URL of the page, if it is not the requested one.
    url: str | None = None
    markup: str = ""

    def content(self, url: str, links: PageAddresses = NO_ADDRESSES) -> PageContent:
        """What the guard compares."""
        return page_content(url, self.page_text, links)

    @property
    def page_text(self) -> PageText:
        """What the page shows."""
        return PageText(self.title, self.text, self.media, self.markup)


def shown_by(render: Callable[[str], str | None], root: str) -> Callable[[str], Shown | None]:
    """The answers of a generated site at ``root``."""

    def page_of(url: str) -> Shown | None:
        for _ in range(5):
            markup = render(url.removeprefix(root))
            if markup is None or not markup.startswith(REDIRECT):
                break
            target = CANONICAL.batch([markup.removeprefix(REDIRECT)], url)[0]
            if target is None:
                return None
            url = target
        if markup is None or markup.startswith(REDIRECT):
            return None
        if markup.startswith(PLAIN):
            return Shown([], text=markup)
        page = extract(markup.replace("{root}", root), url, with_text=True)
        links = [link for link in CANONICAL.batch(page.hrefs, url) if link is not None]
        return Shown(links, page.title, page.text or "", page.media, url, markup)

    return page_of


class Walk:
    """One walk. ``fetched``: URLs of the fetched pages, in order; ``asked``: those that the guard asked for.

    ``page_of``: the page of a URL, None if there is none.  ``order``: ``breadth`` or ``depth`` first, or the URL found
    on the most pages first (``links``).  As in a crawl, waiting URLs come last and dropped ones are removed, and a page
    with the text of an earlier one is its copy.  Without ``limits`` there is no guard.  ``most``: maximum number of
    pages.
    """

    def __init__(
        self,
        seeds: Iterable[str],
        page_of: Callable[[str], Shown | None],
        limits: GuardLimits | None,
        *,
        order: str = "breadth",
        most: int | None = None,
    ) -> None:
        self.fetched: list[str] = []
        self.requests = 0
        self.asked: list[str] = []
        self.dropped: list[str] = []
        self.refused: set[str] = set()
        self.servers: dict[str, Server] = {}
        self.guard = None if limits is None else Guard(limits, self.servers.get, self._is_known)
        self._page_of = page_of
        self._order = order
        self._found: Counter[str] = Counter()
        self._waiting: dict[str, Entry] = {}
        self._heap: list[tuple[int, int, int, str]] = []
        self._pushes = 0
        self._seen: set[str] = set()
        self._texts: dict[int, str] = {}
        at: set[str] = set()
        for seed in seeds:
            self._seen.add(seed)
            self._push(Entry(seed))
        while self._heap and (most is None or self.requests < most):
            url = heappop(self._heap)[-1]
            entry = self._waiting.pop(url, None)
            if entry is None:
                continue
            self.requests += 1
            shown = page_of(url)
            if shown is None:
                continue
            place = shown.url or url
            self._seen.add(place)
            if place not in at:
                at.add(place)
                self.fetched.append(place)
                self._read(place, shown, entry)

    def _has_name(self, name: str, url: str) -> bool:
        return self.guard is not None and self.guard.name_of(url) == name

    def _is_known(self, url: str) -> bool:
        return url in self._seen

    def _push(self, entry: Entry) -> None:
        self._pushes += 1
        key = server_key(entry.url)
        if key not in self.servers:
            self.servers[key] = Server(key, UrlQueue(by_quality=True, window=1), 1)
        self._waiting[entry.url] = entry
        rank = {"breadth": self._pushes, "depth": -self._pushes, "links": -self._found[entry.url]}[self._order]
        group = {DEMOTED: 1, OTHER_NAME: 2}.get(entry.priority, 0)
        heappush(self._heap, (group, rank, self._pushes, entry.url))

    def _read(self, url: str, shown: Shown, entry: Entry) -> None:
        server = self.servers[server_key(url)]
        server.pages += 1
        first = self._texts.setdefault(hash(shown.markup or shown.text), url)  # the same bytes, as in a crawl
        is_copy = first != url
        page = None
        if self.guard is not None:
            was_last = entry.priority if entry.priority in (DEMOTED, OTHER_NAME) else 0
            visit = Visit(is_copy, was_last=was_last, depth=entry.depth, links=tuple(shown.links))
            idle = self.guard.learn_part(
                url,
                first if is_copy else None,
                is_page=not shown.text.startswith(PLAIN),
                shown=lambda: shown_hash(url, shown.page_text, shown.links),
            )
            if idle is not None and idle.guard is not None:
                self._rank_last(idle.guard.idle_parts.sorter(self._is_known, self._seen.add), OTHER_NAME)
            page = self.guard.page(url, lambda links: shown.content(url, links), visit)
        new = []
        for link in dict.fromkeys(shown.links):
            if page is not None and page.refuses_some and page.refuses(link):
                self.refused.add(link)
                continue
            self._found[link] += 1
            if link not in self._seen:
                self._seen.add(link)
                new.append(Entry(link, depth=entry.depth + 1))
            elif self._order == "links" and link in self._waiting:
                self._push(self._waiting[link])
        if page is not None:
            urls = [each.url for each in new]
            last = page.learn(urls)
            versions = page.versions(urls, self._seen.add)
            new = [demoted(each) if each.url in last else each for each in new]
            new = [demoted(each, OTHER_NAME) if each.url in versions else each for each in new]
        for each in new:
            self._push(each)
        if page is not None:
            self._follow_up(server, page)

    def _rank_last(self, are_last: Callable[[str], bool], priority: int) -> None:
        for entry in list(self._waiting.values()):
            if (entry.priority not in WAITING or priority < entry.priority) and are_last(entry.url):
                self._push(demoted(entry, priority))
        kept = {each[-1]: each for each in sorted(self._heap)}  # the last push of each
        self._heap = list(kept.values())
        heapify(self._heap)

    def _follow_up(self, server: Server, page: GuardedPage) -> None:
        assert self.guard is not None
        for spent in page.spent:
            for url, entry in list(self._waiting.items()):
                if server_key(url) == server.key and self.guard.is_dropped(server, entry, spent):
                    del self._waiting[url]
                    self.dropped.append(url)
            self._heap = [item for item in self._heap if item[-1] in self._waiting]
            heapify(self._heap)
        questions: list[Question] = list(page.questions)
        while questions:
            question = questions.pop()
            url = question.next_url
            self.asked.append(url)
            self.requests += 1
            shown = self._page_of(url)
            answer = Answer(404, url)
            if shown is not None:
                place = shown.url or url
                answer = Answer(200, place, shown.links, shown.content(place))
            then = self.guard.answered(server, question, answer)
            if self.guard.is_sprawling(server, question.name):
                self._rank_last(partial(self._has_name, question.name), DEMOTED)
            questions += [] if then is None else [then]
