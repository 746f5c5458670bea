"""The pure model of an emulated web: pages, links, sizes, times and worth, built from a `WebSpec` and its seed."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from . import graph
from .population import PRIVATE, Server, draw_servers
from .traps import WITH_IDS, without_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .spec import WebSpec


BYTES_MEAN, BYTES_SIGMA = 8000.0, 0.8  # of a page


@dataclass(frozen=True, eq=False)
class Web:
    """An emulated web. Its pages are numbers; `url()` and `find()` translate.

    Until the web is served, its URLs have the port of the spec (0: not chosen yet); `at(port)` changes it.
    """

    spec: WebSpec
    port: int
    servers: tuple[Server, ...]
    server_of: array[int]
    """Page -> index of its server."""
    paths: list[str]
    kinds: bytes
    """Page -> graph.PLAIN, PRIVATE, NOT_FOUND, SERVER_ERROR or MOVED."""
    redirects: dict[int, int]
    bounds: array[int]
    """The links of page p are targets[bounds[p]:bounds[p + 1]]."""
    targets: array[int]
    sizes: array[int]
    """Bytes of each page."""
    times: array[float]
    """Response time of each page in seconds, drawn once per page, scaled."""
    scores: list[float]
    expected: tuple[int, ...]
    """Pages that a crawl from the seeds must fetch with 200."""
    pages_by_path: list[dict[str, int]]
    servers_by_address: dict[str, int]

    def at(self, port: int) -> Web:
        """The same web on another port; shares all its data."""
        return replace(self, port=port)

    def links(self, page: int) -> array[int]:
        """The pages that a page links to, in document order."""
        return self.targets[self.bounds[page] : self.bounds[page + 1]]

    def base(self, server: int) -> str:
        """Scheme, address or name, and port of a server, without a slash at the end."""
        return f"http://{self.host(server)}:{self.port}"

    def host(self, server: int) -> str:
        """The host of a server in URLs: name or address."""
        return f"s{server}.{self.spec.domain}" if self.spec.domain else self.servers[server].address

    def addresses(self) -> dict[str, str]:
        """Name -> address of every server, for a name server."""
        return {self.host(server.index): server.address for server in self.servers}

    def url(self, page: int) -> str:
        return self.base(self.server_of[page]) + self.paths[page]

    def seeds(self) -> list[str]:
        """URLs of the home pages to start a crawl from."""
        return [self.url(page) for page in _seed_pages(self.spec, self.servers)]

    def find(self, server: int, target: str) -> int | None:
        """The page of a request target on a server, ignoring session ids; None if there is none. O(1)."""
        page = self.pages_by_path[server].get(target)
        if page is None and self.servers[server].trap in WITH_IDS:
            page = self.pages_by_path[server].get(without_session(target))
        return page

    def expected_urls(self) -> list[str]:
        """The URLs that a crawl from the seeds must fetch with 200, each once."""
        return [self.url(page) for page in self.expected]

    def crawl_delays(self) -> dict[str, float]:
        """Address -> Crawl-delay in seconds, for the servers that have one."""
        return {server.address: server.crawl_delay for server in self.servers if server.crawl_delay}

    def write_scores(self, path: str | Path) -> None:
        """Write a line `URL<TAB>quality` for every page."""
        with Path(path).open("w", encoding="ascii") as file:
            file.writelines(f"{self.url(page)}\t{score!r}\n" for page, score in enumerate(self.scores))


def build_web(spec: WebSpec) -> Web:
    """Build the web of a spec: the same spec gives the same web. O(links), a few seconds for 30,000 pages."""
    servers = draw_servers(spec)
    kinds = graph.draw_kinds(spec, servers)
    redirects = graph.draw_redirects(spec, servers, kinds)
    links = graph.draw_links(spec, servers, kinds, redirects)
    reach = graph.Reach(servers, kinds, links)
    reach.spread(_seed_pages(spec, servers))
    if spec.reachable:
        graph.connect_unreached(spec, servers, reach, links)
    paths = [_path(server, page, kinds[page]) for server in servers for page in server.page_range]
    return Web(
        spec=spec,
        port=spec.port,
        servers=servers,
        server_of=array("I", chain.from_iterable([server.index] * server.page_count for server in servers)),
        paths=paths,
        kinds=kinds,
        redirects=redirects,
        bounds=array("I", chain([0], accumulate(map(len, links)))),
        targets=array("I", chain.from_iterable(links)),
        sizes=_draw_sizes(spec),
        times=_draw_times(spec, servers),
        scores=graph.pagerank(links) if spec.quality == "pagerank" else graph.zipf(spec.pages, spec.seed),
        expected=tuple(page for page in range(spec.pages) if reach.shows_links(page)),
        pages_by_path=[{paths[page]: page for page in server.page_range} for server in servers],
        servers_by_address={server.address: server.index for server in servers} | _by_name(spec, servers),
    )


def _by_name(spec: WebSpec, servers: Sequence[Server]) -> dict[str, int]:
    return {f"s{server.index}.{spec.domain}": server.index for server in servers} if spec.domain else {}


def _seed_pages(spec: WebSpec, servers: Sequence[Server]) -> list[int]:
    """Home pages of the first servers; these are never dead."""
    return [server.first_page for server in servers[: spec.seed_count] if not server.is_dead]


def _path(server: Server, page: int, kind: int) -> str:
    """Path of a page on its server: / is the home page, every third page is in a directory."""
    number = page - server.first_page
    if kind == graph.PRIVATE:
        return f"{PRIVATE}p{number}.html"
    if number == 0:
        return "/"
    return f"/d{number % 7}/p{number}.html" if number % 3 == 0 else f"/p{number}.html"


def _draw_sizes(spec: WebSpec) -> array[int]:
    """Bytes of each page: fixed, or log-normal."""
    if spec.page_bytes:
        return array("I", [spec.page_bytes]) * spec.pages
    rng = Random(f"{spec.seed}/bytes")
    mu = math.log(BYTES_MEAN) - BYTES_SIGMA * BYTES_SIGMA / 2
    return array("I", (round(rng.lognormvariate(mu, BYTES_SIGMA)) for _ in range(spec.pages)))


def _draw_times(spec: WebSpec, servers: Sequence[Server]) -> array[float]:
    """Response time of each page in seconds: its server's median times a log-normal factor."""
    rng = Random(f"{spec.seed}/times")
    longest = spec.response_max * spec.time_scale
    return array(
        "d",
        (
            min(longest, server.response_time * rng.lognormvariate(0, spec.response_sigma_pages))
            for server in servers
            for _ in range(server.page_count)
        ),
    )
