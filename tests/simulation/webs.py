"""Small webs to crawl, and what a crawl's log says of its connections."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from crawlproject.simulation.crawl import Crawl
from crawlproject.simulation.web import SimulatedWeb, compressed


@dataclass(frozen=True)
class Host:
    """A server: seconds to open (and to close) a connection, requests it carries."""

    connect: float = 0.1
    limit: int = 100
    dead: bool = False


@dataclass(frozen=True)
class Page:
    """A page: its server, seconds it takes, what it is worth, where it links to."""

    server: int = 0
    time: float = 1.0
    quality: float = 1.0
    links: tuple[int, ...] = ()


def make_web(hosts: Sequence[Host], pages: Sequence[Page], seeds: Sequence[int] = (0,)) -> SimulatedWeb:
    """A web of these; every connection takes its server's time to open, and as long to close."""
    server = np.array([page.server for page in pages])
    sources = np.array([number for number, page in enumerate(pages) for _ in page.links], dtype=np.int64)
    targets = np.array([link for page in pages for link in page.links], dtype=np.int64)
    indptr, targets = compressed(sources, targets, len(pages))
    connect = np.array([host.connect for host in hosts])
    return SimulatedWeb(
        server=server,
        indptr=indptr,
        targets=targets,
        size=np.ones(len(pages)),
        page_time=np.array([page.time for page in pages]),
        quality=np.array([page.quality for page in pages]),
        connect_time=connect,
        connect_draws=connect[np.sort(server)],
        keep_alive_limit=np.array([host.limit for host in hosts]),
        seeds=np.array(seeds),
        dead=np.array([host.dead for host in hosts]),
    )


@st.composite
def webs(draw: st.DrawFn, most_pages: int = 16, *, may_be_dead: bool = False) -> SimulatedWeb:
    """Webs of up to 4 servers; every page can be reached from page 0 if no server is dead."""
    times, worth = st.floats(0.01, 5), st.floats(0.001, 1)
    dead = st.booleans() if may_be_dead else st.just(False)
    host = st.builds(Host, st.floats(0.01, 1), st.integers(1, 4), dead)
    hosts = draw(st.lists(host, min_size=1, max_size=4))
    count = draw(st.integers(len(hosts), most_pages))
    links: list[list[int]] = [draw(st.lists(st.integers(0, count - 1), max_size=3)) for _ in range(count)]
    for page in range(1, count):
        links[draw(st.integers(0, page - 1))].append(page)
    servers = [*range(len(hosts)), *draw(st.lists(st.integers(0, len(hosts) - 1), min_size=count, max_size=count))]
    pages = [Page(servers[number], draw(times), draw(worth), tuple(links[number])) for number in range(count)]
    return make_web(hosts, pages)


@dataclass(frozen=True)
class Connection:
    """A connection as the crawl's log shows it: from the first second of its opening to the last of its closing."""

    server: int
    opened: float
    closed: float
    requests: int
    #: When its last response had come.
    last_end: float


def connections(crawl: Crawl) -> list[Connection]:
    """All connections of a crawl without waits: requests that follow each other at once share one."""
    web = crawl.web
    result = []
    for server in range(web.servers):
        mine = np.flatnonzero(web.server[crawl.pages] == server)
        mine = mine[np.argsort(crawl.started[mine])]
        breaks = [i for i, (a, b) in enumerate(pairwise(mine), 1) if crawl.started[b] > crawl.ended[a] + 1e-9]
        for number, part in enumerate(np.split(mine, breaks) if len(mine) else []):
            opened = crawl.started[part[0]] - web.connect_draws[web.first[server] + number]
            end = crawl.ended[part[-1]]
            result.append(Connection(server, opened, end + web.connect_time[server], len(part), end))
    return result


def most_at_once(intervals: Sequence[tuple[float, float]]) -> int:
    changes = sorted([(start + 1e-9, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    return int(np.cumsum([change for _, change in changes]).max(initial=0))
