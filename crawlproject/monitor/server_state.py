"""Servers and spiders as they are shown everywhere: the state of a server in words, its reason, its rank term by term;
the table by spider, of a crawl with several.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.engine import Crawl
from crawlproject.frontier.queues.ready_line import crowd_at
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.quantities import counted
from crawlproject.requests.owners import COUNTED, Owner, Owners

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.server import Server

#: The states shown, with their meaning; the last four replace the server's own state, which is idle or leased then.
IN_USE, GIVEN_UP, BLOCKED, FULL, LEFT = "in use", "given up", "blocked", "full", "left"
STATES = {
    ServerState.READY.value: "may be requested now",
    ServerState.RESTING.value: "with URLs, in a polite wait or back-off",
    ServerState.WAITING.value: "ready, but another server of their politeness group is busy",
    IN_USE: "with a session",
    ServerState.IDLE.value: "without URLs",
    ServerState.HELD.value: "about to be given to another worker",
    GIVEN_UP: "given up after too many failures",
    BLOCKED: "blocked by the operator",
    FULL: "all pages fetched that a server may have",
    LEFT: "never answered, when nothing else was left: tried again by the next run",
}

#: Trap patterns of a server that are shown.
MAX_TRAPS = 100


def shown_state(server: Server) -> str:
    """Its state, one of ``STATES``. O(1)."""
    if server.given_up:
        return GIVEN_UP
    if server.blocked:
        return BLOCKED
    if server.left:
        return LEFT
    if server.full:
        return FULL
    return IN_USE if server.state is ServerState.LEASED else server.state.value


def next_at(server: Server) -> float:
    """When it may be contacted again; inf if it gets no request: given up, blocked or full. O(1)."""
    return inf if server.given_up or server.blocked or server.full else server.ready_at


def state_reason(server: Server) -> str:
    """The reason for its state; empty for one that needs none."""
    if server.given_up:
        return _last_error(server) or "too many failures in a row"
    if server.left:
        return _last_error(server) or STATES[LEFT]
    if server.blocked:
        return STATES[BLOCKED]
    if server.crowd is not None and server.crowd.name == crowd_at(server.address):
        return f"its IP address {server.address} has as many sessions as it may (FRONTIER_ADDRESS_SESSIONS)"
    return rest_reason(server) if server.state is ServerState.RESTING else ""


def rest_reason(server: Server) -> str:
    """The reason for the server's rest, with the last error if there is one."""
    if server.last_error:
        return _last_error(server)
    if server.crawl_delay:
        return f"Crawl-delay {server.crawl_delay:g} s"
    return "polite wait"


def _last_error(server: Server) -> str:
    times = f", {server.failures} times in a row" if server.last_error and server.failures > 1 else ""
    return f"{server.last_error}{times}"


def server_terms(policy: Policy, server: Server, now: float) -> dict[str, Any]:
    """The state of ``server``, its rank by ``policy``, and the terms of that; times in seconds. O(batch).

    ``wait``: until ``next_at``, None if it gets no request.
    """
    estimates, urls, at = server.estimates, server.urls, next_at(server)
    return {
        "server": server.key,
        "state": shown_state(server),
        "reason": state_reason(server),
        "rank": policy.rank(server) if urls else 0.0,
        "last_error": server.last_error,
        "fetched": server.fetched,
        "gathered": server.gathered,
        "measured": server.answered,
        "wait": max(0.0, at - now) if at < inf else None,
        "urls": len(urls),
        "batch": server.expected_pages,
        "best_quality": urls.best_quality,
        "batch_quality": urls.window_sum,
        "bonus": server.bonus,
        "pages": server.pages,
        "copies": server.copies,
        "worth": server.worth,
        "connect_time": estimates.connect_time,
        "response_time": estimates.response_time,
        "page_time": server.page_time,
        "session_time": server.expected_time if urls else 0.0,
        "crawl_delay": server.crawl_delay,
        "failures": server.failures,
        "doubted": server.guard.waiting if server.guard else 0,
        "refused": server.guard.refused if server.guard else 0,
        "traps": server.guard.spent[:MAX_TRAPS] if server.guard else [],
    }


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
