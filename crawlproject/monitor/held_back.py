"""Finds the bottleneck of a crawl, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.monitor.forecast import drain_time
from crawlproject.monitor.quantities import counted, duration
from crawlproject.monitor.server_state import rest_reason

if TYPE_CHECKING:
    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.frontier.server import Server
    from crawlproject.monitor.figures import ServerCounts
    from crawlproject.monitor.forecast import Survey

#: CPU time per second from which the process counts as busy: it has one event loop.
BUSY = 0.85

#: Mean lag of the loop (seconds) from which it counts as late.
LATE = 0.5

#: Share of the sessions whose connections wait for DNS.
MANY = 0.5


@dataclass(frozen=True, slots=True)
class Moment:
    """The figures from which the reason is found."""

    crawl: CrawlFrontier
    now: float
    servers: ServerCounts
    survey: Survey | None
    max_sessions: int
    cpu: float
    lag: float
    dns_lookups: int
    is_closing: bool


def held_back(moment: Moment) -> str:
    """The main reason why the crawl is not faster, such as ``politeness: 37 of 40 servers rest``. O(1)."""
    crawl, servers = moment.crawl, moment.servers
    sessions, limit = crawl.dispatcher.open_sessions, crawl.dispatcher.max_sessions
    if moment.is_closing:
        return f"the crawl is ending: {counted(len(crawl.started), 'request')} in progress"
    if crawl.is_paused:
        return "the operator: the crawl is paused"
    if crawl.outage is not None:
        return crawl.outage
    if not crawl.store.may_start():
        return "the store: requests wait until it can be reached again"
    if limit < moment.max_sessions:
        return f"the process cannot keep up: {limit} of {moment.max_sessions} connections allowed for now"
    if moment.cpu >= BUSY:
        return f"CPU: the process uses {moment.cpu:.0%} of one, the event loop lags by {moment.lag:.2f} s"
    if moment.lag >= LATE:
        return (
            f"the event loop lags by {moment.lag:.2f} s, with {moment.cpu:.0%} of a CPU in use: something blocks it, "
            "or the machine is busy"
        )
    if sessions and moment.dns_lookups >= MANY * sessions:
        return f"DNS: {counted(moment.dns_lookups, 'look-up')} open"
    if sessions >= limit:
        return f"connections: all {limit} are in use, {counted(servers.ready, 'server')} ready"
    return _few_servers(moment, sessions, limit)


def _few_servers(moment: Moment, sessions: int, limit: int) -> str:
    servers, survey = moment.servers, moment.survey
    if not len(moment.crawl):
        where = " at this worker" if moment.crawl.store.orders is not None else ""
        if blocked := moment.crawl.frontier.blocked:
            return f"the operator: {counted(blocked, 'URL')}, all that are queued{where}, are blocked"
        return f"nothing is queued{where}: {counted(len(moment.crawl.started), 'request')} in progress may bring links"
    if servers.with_urls == 1 and survey is not None and survey.longest is not None:
        urls = max(0, len(survey.longest.urls) - survey.beyond_limits)
        return f"one server left: {_with_time(survey.longest, urls, moment)}"
    if shut := moment.crawl.frontier.queue.shut:
        return f"addresses: {counted(shut, 'server')} at IP addresses with FRONTIER_ADDRESS_SESSIONS sessions"
    resting = servers.resting + servers.waiting
    if resting and survey is not None and 2 * survey.failing > servers.with_urls:
        failing = f"{min(survey.failing, servers.with_urls)} of {counted(servers.with_urls, 'server')}"
        return f"failures: {failing} fail, and are tried again for up to {duration(survey.failing_time)}"
    if resting:
        words = f"politeness: {resting} of {counted(servers.with_urls, 'server')} {'rests' if resting == 1 else 'rest'}"
        return words + _next(moment) if not sessions else words
    return f"few servers: {sessions} of {limit} connections are enough for all {servers.with_urls} with URLs"


def _with_time(server: Server, urls: int, moment: Moment) -> str:
    politeness = moment.crawl.frontier.servers.politeness_of(server)
    seconds = drain_time(server, politeness, moment.now, urls)
    return f"{server.key[:60]}, {counted(urls, 'URL')}, about {duration(seconds)}"


def _next(moment: Moment) -> str:
    found = moment.crawl.dispatcher.waits_for()
    if found is None:
        return ""
    server, at = found
    return f"; next {server.key[:60]} in {duration(max(0.0, at - moment.now))} ({rest_reason(server)[:60]})"
