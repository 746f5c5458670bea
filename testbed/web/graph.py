"""The pages of a web and the links between them: kinds of pages, links, redirects, reachability, worth.

A page is a number; the pages of a server are consecutive, its home page first. Links have power-law popularity: between
servers by a random rank, inside a server by page number (low numbers are popular). A page's worth is its PageRank, or
drawn at random by Zipf's law.
"""

from __future__ import annotations

from collections import deque
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .population import Server
    from .spec import WebSpec

PLAIN, PRIVATE, NOT_FOUND, SERVER_ERROR, MOVED = range(5)

MENU = 3  # pages that every page of a server links to, besides the home page
BRANCHES = 4  # pages below each page, in the tree that its server's pages form
# With these three, the top 1% and 10% of the pages have about 19% and 51% of the PageRank (15 links per page).
SERVER_POPULARITY = 0.75  # servers are linked to in proportion to rank^-0.75
PAGE_SKEW = 4.0  # page number ~ u^4 of the server's pages, so in-links ~ rank^-(3/4)
HOME_SHARE = 0.3  # share of the links that enter a server
PRIVATE_SHARE = 0.2  # share of the pages on a server that disallows /private/

Links = list[list[int]]


def draw_kinds(spec: WebSpec, servers: Sequence[Server]) -> bytes:
    """The kind of each page; home pages are plain. O(pages)."""
    rng = Random(f"{spec.seed}/kinds")
    kinds = bytearray(spec.pages)
    for server in servers:
        if server.has_private:
            inner = server.page_range[1:]
            for page in rng.sample(inner, round(PRIVATE_SHARE * len(inner))):
                kinds[page] = PRIVATE
    homes = {server.first_page for server in servers}
    candidates = [page for page in range(spec.pages) if kinds[page] == PLAIN and page not in homes]
    rng.shuffle(candidates)
    shares = {NOT_FOUND: spec.not_found_share, SERVER_ERROR: spec.server_error_share, MOVED: spec.redirect_share}
    drawn = [kind for kind, share in shares.items() for _ in range(round(share * spec.pages))]
    for page, kind in zip(candidates, drawn, strict=False):
        kinds[page] = kind
    return bytes(kinds)


def draw_redirects(spec: WebSpec, servers: Sequence[Server], kinds: bytes) -> dict[int, int]:
    """Redirecting page -> plain page of a live server; half of them stay on their server. O(pages)."""
    rng = Random(f"{spec.seed}/redirects")
    targets = {server.index: [p for p in server.page_range if kinds[p] == PLAIN] for server in servers}
    anywhere = [page for server in servers if not server.is_dead for page in targets[server.index]]
    redirects = {}
    for server in servers:
        for page in server.page_range:
            if kinds[page] == MOVED:
                is_local = rng.random() < 0.5 and not server.is_dead
                redirects[page] = rng.choice(targets[server.index] if is_local else anywhere)
    return redirects


def draw_links(spec: WebSpec, servers: Sequence[Server], kinds: bytes, redirects: dict[int, int]) -> Links:
    """The links of each page in document order, without repetition; a redirect is its page's only link. O(links)."""
    rng = Random(f"{spec.seed}/links")
    ranks = list(range(1, len(servers) + 1))
    rng.shuffle(ranks)
    popularity = list(accumulate(rank**-SERVER_POPULARITY for rank in ranks))
    links: Links = []
    for server in servers:
        for page in server.page_range:
            if kinds[page] == MOVED:
                links.append([redirects[page]])
            elif kinds[page] in (NOT_FOUND, SERVER_ERROR):
                links.append([])
            else:
                count = max(1, round(spec.links_per_page * rng.lognormvariate(0, spec.links_sigma)))
                remote = int((1 - spec.local_share) * count + rng.random())
                targets = _local_links(rng, server, page, count - remote)
                targets += _remote_links(rng, rng.choices(servers, cum_weights=popularity, k=remote))
                links.append(list(dict.fromkeys(target for target in targets if target != page)))
    return links


def _local_links(rng: Random, server: Server, page: int, count: int) -> list[int]:
    """About `count` pages of the page's own server: those below it, home, menu, then popular ones."""
    first, size = server.first_page, server.page_count
    below = (page - first) * BRANCHES + 1
    chosen = dict.fromkeys(range(first + below, first + min(below + BRANCHES, size)))
    chosen.update(dict.fromkeys(range(first, first + min(1 + MENU, size))))
    wanted = min(count, size - 1)
    draw = rng.random
    for _ in range(3 * wanted):  # bounded: popular pages are drawn again and again
        if len(chosen) > wanted:
            break
        chosen[first + int(size * draw() ** PAGE_SKEW)] = None
    chosen.pop(page, None)
    return list(chosen)[:wanted]


def _remote_links(rng: Random, chosen: Iterable[Server]) -> list[int]:
    """A page on each of the chosen servers: the home page or a popular one."""
    draw = rng.random
    return [
        server.first_page + (0 if draw() < HOME_SHARE else int(server.page_count * draw() ** PAGE_SKEW))
        for server in chosen
    ]


class Reach:
    """The pages that a crawl from the seeds can reach through pages that it may fetch. O(links) in total."""

    def __init__(self, servers: Sequence[Server], kinds: bytes, links: Links) -> None:
        self._links = links
        self._is_open = bytearray(kind in (PLAIN, MOVED) for kind in kinds)
        for server in servers:
            if server.is_dead:
                self._is_open[server.first_page : server.page_range.stop] = bytes(server.page_count)
        self.reached = bytearray(len(kinds))
        self.sources: list[int] = []
        """Reached pages that show links, in breadth-first order."""
        self._kinds = kinds

    def spread(self, pages: Iterable[int]) -> None:
        """Add all pages reachable from these pages."""
        queue = deque(pages)
        while queue:
            page = queue.popleft()
            if self.reached[page]:
                continue
            self.reached[page] = True
            if self._is_open[page]:
                queue.extend(self._links[page])
                if self._kinds[page] == PLAIN:
                    self.sources.append(page)

    def shows_links(self, page: int) -> bool:
        """Whether a crawl gets to see the links of this page."""
        return bool(self.reached[page] and self._is_open[page] and self._kinds[page] == PLAIN)


def connect_unreached(spec: WebSpec, servers: Sequence[Server], reach: Reach, links: Links) -> None:
    """Add links until every page can be reached, except inner pages of dead servers. O(pages)."""
    rng = Random(f"{spec.seed}/connect")
    for server in servers:
        home = server.first_page
        if not reach.reached[home]:
            links[rng.choice(reach.sources)].append(home)
            reach.spread([home])
    for server in servers:
        if server.is_dead:
            continue
        for page in server.page_range:
            if not reach.reached[page]:
                source = rng.choice(server.page_range)
                links[source if reach.shows_links(source) else server.first_page].append(page)
                reach.spread([page])


DAMPING = 0.85  # Cao 2003; Page & Brin 1998
CONVERGED = 1e-5  # sum of changes; 50 to 60 rounds


def pagerank(links: Sequence[Sequence[int]]) -> list[float]:
    """PageRank of each page by power iteration; sums to 1. O(rounds * links).

    A page without links distributes its rank evenly over all pages.
    """
    count = len(links)
    inlinks: list[list[int]] = [[] for _ in range(count)]
    for source, targets in enumerate(links):
        for target in targets:
            inlinks[target].append(source)
    dangling = [page for page in range(count) if not links[page]]
    ranks = [1 / count] * count
    change = 1.0
    while change > CONVERGED:
        given = [rank / (len(targets) or 1) for rank, targets in zip(ranks, links, strict=True)]
        lost = sum(ranks[page] for page in dangling)
        base = (1 - DAMPING + DAMPING * lost) / count
        take = given.__getitem__
        renewed = [base + DAMPING * sum(map(take, sources)) for sources in inlinks]
        change = sum(abs(new - old) for new, old in zip(renewed, ranks, strict=True))
        ranks = renewed
    return ranks


def zipf(count: int, seed: int) -> list[float]:
    """1/rank (a = 1), scaled to sum to 1 and assigned to the pages at random."""
    values = [1 / rank for rank in range(1, count + 1)]
    total = sum(values)
    Random(f"{seed}/zipf").shuffle(values)
    return [value / total for value in values]
