"""The table by spider, of a crawl with several: the same wherever it is shown."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlproject.engine import Crawl
from crawlproject.monitor.quantities import counted
from crawlproject.monitor.server_state import shown_state, state_reason
from crawlproject.requests.owners import COUNTED, Owner, Owners

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from crawlproject.frontier.server import Server

#: Servers looked at in one step of the event loop: 4 ms.
STEP = 1_000


async def spider_rows(crawler: Crawler, servers: Iterable[Server]) -> list[dict[str, Any]]:
    """A row for each spider, with what it waits for. O(servers), in steps."""
    owners = Crawl.of(crawler).part(Owners)
    urls: Counter[Owner] = Counter()
    states: dict[Owner, Counter[str]] = {owner: Counter() for owner in owners}
    for number, server in enumerate(list(servers) if owners else (), 1):
        owner = owners.of(server.key)
        if owner is not None and server.urls:
            urls[owner] += len(server.urls)
            state, reason = shown_state(server), state_reason(server)
            states[owner][f"{state}: {reason}" if reason else state] += 1
        if number % STEP == 0:
            await asyncio.sleep(0)
    return [
        {
            "spider": owner.name,
            **{name: getattr(owner, name) for name in COUNTED},
            "seconds": round(owner.seconds, 3),
            "urls": urls[owner],
            "waits_for": _waits_for(owner, states[owner]),
        }
        for owner in owners
    ]


def spider_names(crawler: Crawler) -> list[str]:
    """All spiders of the crawl, its own one first."""
    own = [] if crawler.spider is None else [crawler.spider.name]
    return [*own, *(owner.name for owner in Crawl.of(crawler).part(Owners))]


def spider_of(crawler: Crawler, url: str) -> str:
    """The name of the spider that a URL, or a server, belongs to. O(labels)."""
    owner = Crawl.of(crawler).part(Owners).of(url)
    return owner.name if owner is not None else "" if crawler.spider is None else crawler.spider.name


def spiders_in_words(crawler: Crawler) -> dict[str, str]:
    """Name -> pages, items, errors; those with most pages first. O(spiders log spiders)."""
    owners = sorted(Crawl.of(crawler).part(Owners), key=lambda owner: -owner.pages)
    return {owner.name: _counts(owner) for owner in owners}


def _counts(owner: Owner) -> str:
    ended = f", ended: {owner.ended}" if owner.ended else ""
    errors = f", {counted(owner.errors, 'error')}" if owner.errors else ""
    return f"{counted(owner.pages, 'page')}, {counted(owner.items, 'item')}{errors}{ended}"


def _waits_for(owner: Owner, states: Counter[str]) -> str:
    if owner.spider is None:
        return "the spider is missing"
    if owner.ended:
        return f"ended: {owner.ended}"
    return ", ".join(f"{count} {state}" for state, count in states.most_common(3)) or "nothing is queued"
