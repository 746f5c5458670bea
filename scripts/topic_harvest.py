"""Compares orders of a focused crawl on real pages with emulated times: how many relevant pages after which time.

python scripts/real_web.py setup --dir DIR
python scripts/topic_harvest.py --web DIR --topic TOPIC.toml

Reads every page that can be reached from the start pages (`scripts/real_web.py count`), computes its relevance, and
crawls them in virtual time with the project's own frontier (crawlproject/simulation). The truth is the relevance of all
pages; an order only sees what a crawler would have seen by then.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from typing import TYPE_CHECKING

from crawlproject.content.relevance.anchors import anchors
from crawlproject.content.relevance.features import LinkReader
from crawlproject.content.relevance.language import declared_language
from crawlproject.content.relevance.model import Features, LinkModel
from crawlproject.content.relevance.topic_file import read_topic
from crawlproject.frontier.policy import POLICIES
from crawlproject.frontier.politeness import Politeness
from crawlproject.simulation.crawl import simulate
from crawlproject.simulation.record import NO_WAIT, Crawl, CrawlOptions
from crawlproject.simulation.times import (
    TIME_MODELS,
    draw_connects,
    draw_limits,
    draw_page_times,
    draw_speeds,
)
from crawlproject.simulation.web import SimulatedWeb, compressed
from crawlproject.urls import Canonicalizer, server_key
from crawlproject.urls.extract import extract
from testbed import real_web
from testbed.real_web.counting import Kind, Url, answer_to

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlproject.content.relevance.topic import Topic

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


def read_pages(web: real_web.RealWeb, topic: Topic, starts: Sequence[str]) -> Pages:  # noqa: C901
    """Read every page that can be reached."""
    pages, numbers, reader = Pages(), dict[str, int](), LinkReader(topic)
    canonicalizer = Canonicalizer()
    hosts = {f"{host.address}:{web.port}": host.address for host in web.hosts}
    files: list[Path] = []
    answers: dict[str, str | None] = {}

    def final(url: str) -> str | None:
        """The URL of the page that a URL leads to; None if it leads to none."""
        if url in answers:
            return answers[url]
        at: str | None = url
        for _ in range(5):
            parts = urlsplit(at or "")
            if parts.netloc not in hosts:
                at = None
                break
            place = Url(hosts[parts.netloc], unquote(parts.path, errors="surrogateescape"), parts.query)
            answer = answer_to(web, place)
            if answer.kind is Kind.PAGE:
                break
            at = canonicalizer.canonical(web.url(*answer.target)) if answer.target is not None else None
            if at is None:
                break
        else:
            at = None
        answers[url] = at
        return at

    def number(url: str) -> int | None:
        end = final(url)
        if end is None:
            return None
        if end not in numbers:
            parts = urlsplit(end)
            place = Url(hosts[parts.netloc], unquote(parts.path, errors="surrogateescape"), parts.query)
            file = answer_to(web, place).file
            assert file is not None
            numbers[end] = len(files)
            files.append(file)
            pages.urls.append(end)
        return numbers[end]

    for seed in [*web.seeds, *starts]:
        number(seed)
    pages.seeds = len(files)
    at = 0
    while at < len(files):
        html = files[at].read_bytes().decode("utf-8", "replace")
        url = pages.urls[at]
        found = extract(html, url, with_text=True)
        before = cpu()
        relevance = topic.relevance(found.title or "", found.text or "", declared_language(html))
        between = cpu()
        around = anchors(html)
        links: dict[int, Features] = {}
        targets = canonicalizer.batch(found.hrefs, found.base, "utf-8")
        for href, target in zip(found.hrefs, targets, strict=True):
            target_number = number(target) if target is not None else None
            if target is not None and target_number is not None and target_number not in links:
                start = cpu()
                anchor = around.get(href.partition("#")[0])
                links[target_number] = reader.features(target, anchor, relevance.value, relevance.language)
                pages.features_time += cpu() - start
        pages.sizes.append(len(html))
        pages.relevances.append(relevance.value)
        is_followed = not found.forbids("nofollow")
        links.pop(at, None)
        pages.links.append(list(links) if is_followed else [])
        pages.features.append(list(links.values()) if is_followed else [])
        pages.relevance_time += between - before
        at += 1
    return pages


def cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def web_of(pages: Pages, times: str, seed: int) -> SimulatedWeb:
    """The pages as a web with emulated times."""
    keys: dict[str, int] = {}
    server = np.array([keys.setdefault(server_key(url), len(keys)) for url in pages.urls], dtype=np.int64)
    counts = np.array([len(links) for links in pages.links])
    targets = np.array([link for links in pages.links for link in links], dtype=np.int64)
    indptr, targets = compressed(np.repeat(np.arange(len(counts)), counts), targets, len(counts))
    model = TIME_MODELS[times]
    speeds = draw_speeds(model, len(keys), seed)
    size = np.array(pages.sizes, dtype=np.float64)
    drawn = draw_page_times(model, speeds, server, size, seed)
    per_server = np.bincount(server).astype(np.int64)
    return SimulatedWeb(
        server=server,
        indptr=indptr,
        targets=targets,
        size=size,
        page_time=drawn.fixed + drawn.thinking,
        quality=np.full(len(counts), 1.0 / len(counts)),
        connect_time=speeds.connect,
        connect_draws=draw_connects(speeds, per_server, seed),
        keep_alive_limit=draw_limits(len(keys), seed),
        seeds=np.arange(pages.seeds, dtype=np.int64),
        dead=np.zeros(len(keys), dtype=np.bool_),
        given_urls=tuple(pages.urls),
    )


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
        """By ``_rate``, discounted below the threshold."""
        relevance = self._pages.relevances[page]
        self._learn(page, relevance)
        steps = 0 if relevance >= self._topic.threshold else self._steps.get(page, 0) + 1
        if steps > self._tunnel:
            return [None] * len(links)
        for link in links:
            self._steps.setdefault(link, steps)
        return [value * DISCOUNT**steps for value in self._rate(page, links)]

    def _learn(self, page: int, relevance: float) -> None:
        """Called with each page before its links are rated."""

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        """The quality of each link."""
        raise NotImplementedError


DISCOUNT = 1.0


class ByRelevance(Rater):
    """The relevance of the page that the link is on."""

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        return [self._pages.relevances[page]] * len(links)


class Ours(Rater):
    """The model; ``learns``: or its prior."""

    def __init__(self, pages: Pages, topic: Topic, tunnel: int, *, learns: bool = True) -> None:
        super().__init__(pages, topic, tunnel)
        self._model = LinkModel()
        self._learns = learns
        self._followed: dict[int, Features] = {}

    def _learn(self, page: int, relevance: float) -> None:
        features = self._followed.pop(page, None)
        if features is not None and self._learns:
            self._model.learn(features, float(relevance >= self._topic.threshold))

    def _rate(self, page: int, links: Sequence[int]) -> list[float]:
        features = self._pages.features[page]
        for link, one in zip(links, features, strict=True):
            self._followed.setdefault(link, one)
        return [self._model.foresee(one) for one in features]


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
    return worth.tolist()


def crawl(  # noqa: PLR0913
    name: str, pages: Pages, web: SimulatedWeb, topic: Topic, options: CrawlOptions, tunnel: int
) -> Crawl:
    """The crawl in one of ``ORDERS``."""
    relevant = np.array(pages.relevances) >= topic.threshold
    makers: dict[str, tuple[str, Callable[[], object]]] = {
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
    """Print the table."""
    parser = argparse.ArgumentParser(description="Relevant pages over time, in several orders.")
    parser.add_argument("--web", required=True, type=Path, help="a folder made by scripts/real_web.py setup")
    parser.add_argument("--topic", required=True, type=Path)
    parser.add_argument("--start", action="append", default=[], metavar="URL", help="a further start page")
    parser.add_argument("--times", default="heritrix", choices=TIME_MODELS)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--polite", action="store_true", help="with the project's default politeness; else no waits")
    parser.add_argument("--seeds", type=int, default=3, help="draws of times")
    parser.add_argument("--tunnel", type=int, default=10**6, help="steps below the threshold that ours follows links")
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--cache", type=Path, help="keep the pages as read in this file")
    options = parser.parse_args()
    topic = read_topic(options.topic).topic()
    if options.cache is not None and options.cache.exists():
        pages = pickle.loads(options.cache.read_bytes())
    else:
        pages = read_pages(real_web.load(options.web), topic, options.start)
        if options.cache is not None:
            options.cache.write_bytes(pickle.dumps(pages))
    relevant = np.array(pages.relevances) >= topic.threshold
    count = len(pages.urls)
    print(
        json.dumps(
            {
                "pages": count,
                "links": sum(map(len, pages.links)),
                "relevant": int(relevant.sum()),
                "relevance_ms": round(1e3 * pages.relevance_time / count, 3),
                "features_ms": round(1e3 * pages.features_time / count, 3),
            }
        )
    )
    orders = options.orders.split(",")
    rows: dict[str, list[list[float]]] = {name: [] for name in orders}
    crawl_options = CrawlOptions(
        sessions=options.sessions, politeness=Politeness() if options.polite else NO_WAIT, max_batch=100
    )
    for seed in range(1, options.seeds + 1):
        web = web_of(pages, options.times, seed)
        full = crawl("breadth-first", pages, web, topic, crawl_options, 0).full_time
        for name in orders:
            done = crawl(name, pages, web, topic, crawl_options, options.tunnel)
            found = relevant[done.pages]
            rows[name].append([float(found[done.ended <= share * full].sum()) for share in (*SHARES, 2.0)])
    means = {name: np.mean(rows[name], axis=0) for name in orders}
    print(f"{'relevant pages after':20} " + " ".join(f"{share:6.0%}" for share in SHARES) + "    all")
    for name, mean in means.items():
        print(f"{name:20} " + " ".join(f"{value:6.0f}" for value in mean))
    if "ours" in means:
        for other in ("breadth-first", "quality", "oracle"):
            if other in means:
                ratios = means["ours"] / np.maximum(1e-9, means[other])
                print(f"ours / {other:13} " + " ".join(f"{ratio:6.2f}" for ratio in ratios))
    return 0


if __name__ == "__main__":
    sys.exit(main())
