"""Compares orders of a focused crawl on real pages with emulated times: how many relevant pages after which time.

python scripts/real_web.py setup --dir DIR
python scripts/topic_harvest.py --web DIR --topic TOPIC.toml

``--times heritrix|synthetic``, ``--sessions``, ``--polite`` (the default politeness; else no waits), ``--seeds`` (draws
of times), ``--tunnel`` (steps below the threshold that ours follows links), ``--orders``.

Reads every page that can be reached from the start pages (`scripts/real_web.py count`), computes its relevance, and
crawls them in virtual time with the project's own frontier (crawlproject/simulation). The truth is the relevance of all
pages; an order only sees what a crawler would have seen by then.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from typing import TYPE_CHECKING, Any

from crawlproject.content.relevance.anchors import anchors
from crawlproject.content.relevance.features import LinkReader
from crawlproject.content.relevance.focus import LinkRater, discounted, steps_below
from crawlproject.content.relevance.language import declared_language
from crawlproject.content.relevance.model import LinkModel
from crawlproject.content.relevance.topic_file import read_topic
from crawlproject.frontier.policy import POLICIES
from crawlproject.frontier.politeness import Politeness
from crawlproject.simulation.crawl import simulate
from crawlproject.simulation.graph import GraphSpec, LinkGraph
from crawlproject.simulation.graph_web import drawn
from crawlproject.simulation.record import NO_WAIT, Crawl, CrawlOptions
from crawlproject.simulation.web import SimulatedWeb, compressed
from crawlproject.urls import Canonicalizer, server_key
from crawlproject.urls.extract import extract
from testbed import real_web
from testbed.bench import command_line
from testbed.real_web.counting import Kind, Url, answer_to

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from crawlproject.content.relevance.anchors import Anchor
    from crawlproject.content.relevance.model import Features
    from crawlproject.content.relevance.topic import Relevance, Topic
    from crawlproject.urls.extract import PageLinks

SHARES = (0.1, 0.2, 0.5)
ORDERS = ("breadth-first", "quality", "relevance", "fixed", "ours", "oracle", "far-sighted oracle")


@dataclass
class Pages:
    """All pages of a web, numbered, the start pages first."""

    urls: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    relevances: list[float] = field(default_factory=list)
    links: list[list[int]] = field(default_factory=list)
    #: Of each link of each page.
    features: list[list[Features]] = field(default_factory=list)
    seeds: int = 0
    #: CPU seconds of relevance (segmentation and vectors), and of features of links.
    relevance_time: float = 0.0
    features_time: float = 0.0


class Walk:
    """Numbers the pages of a web in the order of discovery."""

    def __init__(self, web: real_web.RealWeb) -> None:
        self._web = web
        self._hosts = {f"{host.address}:{web.port}": host.address for host in web.hosts}
        self._numbers: dict[str, int] = {}
        self._ends: dict[str, str | None] = {}
        self.canonicalizer = Canonicalizer()
        self.urls: list[str] = []
        self.files: list[Path] = []

    def number(self, url: str) -> int | None:
        """The number of the page that a URL leads to; None if it leads to none."""
        if url not in self._ends:
            self._ends[url] = self._end(url)
        end = self._ends[url]
        if end is None:
            return None
        if end not in self._numbers:
            file = answer_to(self._web, self._place(end)).file
            assert file is not None
            self._numbers[end] = len(self.files)
            self.files.append(file)
            self.urls.append(end)
        return self._numbers[end]

    def _place(self, url: str) -> Url:
        parts = urlsplit(url)
        return Url(self._hosts[parts.netloc], unquote(parts.path, errors="surrogateescape"), parts.query)

    def _end(self, url: str) -> str | None:
        """The URL of the page after redirects."""
        at: str | None = url
        for _ in range(5):
            if at is None or urlsplit(at).netloc not in self._hosts:
                return None
            answer = answer_to(self._web, self._place(at))
            if answer.kind is Kind.PAGE:
                return at
            at = self.canonicalizer.canonical(self._web.url(*answer.target)) if answer.target is not None else None
        return None


def read_pages(web: real_web.RealWeb, topic: Topic, starts: Sequence[str]) -> Pages:
    """Read every page that can be reached."""
    walk, reader = Walk(web), LinkReader(topic)
    for seed in [*web.seeds, *starts]:
        walk.number(seed)
    pages = Pages(urls=walk.urls, seeds=len(walk.files))
    at = 0
    while at < len(walk.files):
        html = walk.files[at].read_bytes().decode("utf-8", "replace")
        found = extract(html, pages.urls[at], with_text=True)
        before = time.process_time()
        judged = topic.relevance(found.title or "", found.text or "", declared_language(html))
        pages.relevance_time += time.process_time() - before
        links = _links(walk, found, reader, anchors(html), judged, pages)
        links.pop(at, None)
        if found.forbids("nofollow"):
            links = {}
        pages.sizes.append(len(html))
        pages.relevances.append(judged.value)
        pages.links.append(list(links))
        pages.features.append(list(links.values()))
        at += 1
    return pages


def _links(  # noqa: PLR0913
    walk: Walk, found: PageLinks, reader: LinkReader, around: dict[str, Anchor], judged: Relevance, pages: Pages
) -> dict[int, Features]:
    """The pages that a page links to, with the features of the first link to each."""
    links: dict[int, Features] = {}
    targets = walk.canonicalizer.batch(found.hrefs, found.base, "utf-8")
    for href, target in zip(found.hrefs, targets, strict=True):
        number = walk.number(target) if target is not None else None
        if target is not None and number is not None and number not in links:
            start = time.process_time()
            links[number] = reader.features(target, around.get(href.partition("#")[0]), judged.value, judged.language)
            pages.features_time += time.process_time() - start
    return links


def web_of(pages: Pages, times: str, seed: int) -> SimulatedWeb:
    """The pages as a web with emulated times."""
    keys: dict[str, int] = {}
    server = np.array([keys.setdefault(server_key(url), len(keys)) for url in pages.urls], dtype=np.int64)
    counts = np.array([len(links) for links in pages.links])
    targets = np.array([link for links in pages.links for link in links], dtype=np.int64)
    links = compressed(np.repeat(np.arange(len(counts)), counts), targets, len(counts))
    graph = LinkGraph(*links, server, np.array(pages.sizes, dtype=np.float64), tuple(pages.urls))
    return drawn(graph, pages.seeds, GraphSpec("", seed, times)).with_quality(np.ones(len(counts)))


class Rater:
    """Base of the orders that rate links."""

    def __init__(self, pages: Pages, topic: Topic, tunnel: int) -> None:
        self._pages = pages
        self._topic = topic
        self._tunnel = tunnel
        self._steps: dict[int, int] = {}

    def quality(self, url: str, depth: int) -> float:
        """Of the seeds."""
        return 1.0

    def rate(self, page: int, links: Sequence[int]) -> list[float | None]:
        """By ``_rate``, as the spider ``topic`` does, without its discount below the threshold."""
        is_relevant = self._pages.relevances[page] >= self._topic.threshold
        self._learn(page, is_relevant=is_relevant)
        steps = steps_below(self._steps.get(page, 0), is_relevant=is_relevant)
        if steps > self._tunnel:
            return [None] * len(links)
        for link in links:
            self._steps.setdefault(link, steps)
        return [discounted(value, steps, DISCOUNT) for value in self._rate(page, links)]

    def _learn(self, page: int, *, is_relevant: bool) -> None:
        """Called with each page before its links are rated."""

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        """The quality of each link."""
        raise NotImplementedError


#: For each step below the threshold: all links are followed, and the discount made no difference.
DISCOUNT = 1.0


class ByRelevance(Rater):
    """The relevance of the page that the link is on."""

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        return [self._pages.relevances[page]] * len(links)


class Ours(Rater):
    """The model of the spider; without ``learns`` its first weights."""

    def __init__(self, pages: Pages, topic: Topic, tunnel: int, *, learns: bool = True) -> None:
        super().__init__(pages, topic, tunnel)
        self._rater = LinkRater(LinkModel())
        self._learns = learns

    def _learn(self, page: int, *, is_relevant: bool) -> None:
        if self._learns:
            self._rater.learn(self._pages.urls[page], is_relevant=is_relevant)

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        urls = self._pages.urls
        return [self._rater.rate(urls[link], one) for link, one in zip(links, self._pages.features[page], strict=True)]


class Oracle:
    """Knows every page's relevance."""

    def __init__(self, worth: Sequence[float], urls: Sequence[str]) -> None:
        self._worth = dict(zip(urls, worth, strict=True))

    def quality(self, url: str, depth: int) -> float:
        """1 for a relevant page, next to nothing for others."""
        return self._worth[url]


def far_sighted(pages: Pages, relevant: np.ndarray) -> list[float]:
    """1 for a relevant page, 0.5 for one that links to one, and so on."""
    worth = np.where(relevant, 1.0, 1e-6)
    for _ in range(6):
        for page, links in enumerate(pages.links):
            if links:
                worth[page] = max(worth[page], 0.5 * worth[links].max())
    found: list[float] = worth.tolist()
    return found


def crawl(  # noqa: PLR0913
    name: str, pages: Pages, web: SimulatedWeb, topic: Topic, options: CrawlOptions, tunnel: int
) -> Crawl:
    """The crawl in one of ``ORDERS``."""
    relevant = np.array(pages.relevances) >= topic.threshold
    makers: dict[str, tuple[str, Callable[[], Any]]] = {
        "breadth-first": ("breadth-first", lambda: Oracle([1.0] * len(relevant), pages.urls)),
        "quality": ("quality", lambda: ByRelevance(pages, topic, 10**6)),
        "relevance": ("prefix", lambda: ByRelevance(pages, topic, 10**6)),
        "fixed": ("prefix", lambda: Ours(pages, topic, tunnel, learns=False)),
        "ours": ("prefix", lambda: Ours(pages, topic, tunnel)),
        "oracle": ("prefix", lambda: Oracle(np.where(relevant, 1.0, 1e-6).tolist(), pages.urls)),
        "far-sighted oracle": ("prefix", lambda: Oracle(far_sighted(pages, relevant), pages.urls)),
    }
    policy, quality = makers[name]
    return simulate(web, POLICIES[policy](), quality(), options)


def main() -> int:
    options = parsed()
    topic = read_topic(options.topic).topic()
    pages = read_pages(real_web.load(options.web), topic, options.start)
    relevant = np.array(pages.relevances) >= topic.threshold
    count = len(pages.urls)
    told = {
        "pages": count,
        "links": sum(map(len, pages.links)),
        "relevant": int(relevant.sum()),
        "relevance_ms": round(1e3 * pages.relevance_time / count, 3),
        "features_ms": round(1e3 * pages.features_time / count, 3),
    }
    print(json.dumps(told))
    print_table(harvests(options, pages, topic, relevant))
    return 0


def parsed() -> argparse.Namespace:
    orders = ",".join(ORDERS)
    parser = command_line(__doc__, times="heritrix", sessions=4, polite=False, seeds=3, tunnel=10**6, orders=orders)
    parser.add_argument("--web", required=True, type=Path, help="a folder made by scripts/real_web.py setup")
    parser.add_argument("--topic", required=True, type=Path)
    parser.add_argument("--start", action="append", default=[], metavar="URL", help="a further start page")
    return parser.parse_args()


def harvests(options: argparse.Namespace, pages: Pages, topic: Topic, relevant: np.ndarray) -> dict[str, np.ndarray]:
    """Order -> relevant pages after each of ``SHARES`` and in all, means over the draws."""
    orders = options.orders.split(",")
    rows: dict[str, list[list[float]]] = {name: [] for name in orders}
    politeness = Politeness() if options.polite else NO_WAIT
    crawl_options = CrawlOptions(sessions=options.sessions, politeness=politeness, max_batch=100)
    for seed in range(1, options.seeds + 1):
        web = web_of(pages, options.times, seed)
        full = crawl("breadth-first", pages, web, topic, crawl_options, 0).full_time
        for name in orders:
            done = crawl(name, pages, web, topic, crawl_options, options.tunnel)
            found = relevant[done.pages]
            rows[name].append([float(found[done.ended <= share * full].sum()) for share in (*SHARES, 2.0)])
    return {name: np.mean(rows[name], axis=0) for name in orders}


def print_table(means: dict[str, np.ndarray]) -> None:
    """A line for each order, and one for ours by each of the others."""
    print(f"{'relevant pages after':20} " + " ".join(f"{share:6.0%}" for share in SHARES) + "    all")
    for name, mean in means.items():
        print(f"{name:20} " + " ".join(f"{value:6.0f}" for value in mean))
    for other in ("breadth-first", "quality", "oracle"):
        if "ours" in means and other in means:
            ratios = means["ours"] / np.maximum(1e-9, means[other])
            print(f"ours / {other:13} " + " ".join(f"{ratio:6.2f}" for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())
