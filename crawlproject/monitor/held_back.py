"""Finds the bottleneck of a crawl, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK
from crawlproject.monitor.forecast import drain_time
from crawlproject.monitor.quantities import counted, duration
from crawlproject.monitor.server_state import rest_reason

if TYPE_CHECKING:
    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Survey

#: CPU time per second from which the process counts as busy: it has one event loop.
BUSY = 0.85

#: Mean lag of the loop (seconds) from which it counts as late.
LATE = 0.5

#: Share of the sessions whose connections wait for DNS.
MANY = 0.5


def held_back(figures: Figures, crawl: CrawlFrontier, survey: Survey | None, dns_lookups: int) -> tuple[str, str]:
    """One of ``KINDS``, and the main reason why the crawl is not faster (``politeness: 37 of 40 servers rest``)."""
    sessions, limit, most = figures.sessions, figures.session_limit, figures.max_sessions
    if crawl.is_paused:
        return "operator", "the operator: the crawl is paused"
    if crawl.outage is not None:
        return "network", crawl.outage
    if not crawl.store.may_start():
        return "store", "the store: requests wait until it can be reached again"
    if limit < most:
        return "process", f"the process cannot keep up: {limit} of {most} connections allowed for now"
    if figures.cpu >= BUSY:
        return "CPU", f"CPU: the process uses {figures.cpu:.0%} of one, the event loop lags by {figures.lag:.2f} s"
    if figures.lag >= LATE:
        words = f"the event loop lags by {figures.lag:.2f} s, with {figures.cpu:.0%} of a CPU in use"
        return "loop", f"{words}: something blocks it, or the machine is busy"
    if sessions and dns_lookups >= MANY * sessions:
        return "DNS", f"DNS: {counted(dns_lookups, 'look-up')} open"
    if sessions >= limit:
        ready = counted(figures.servers["ready"], "server")
        return "connections", f"connections: all {limit} are in use, {ready} ready"
    return _few_servers(figures, crawl, survey)


def _few_servers(figures: Figures, crawl: CrawlFrontier, survey: Survey | None) -> tuple[str, str]:
    if not len(crawl):
        where = " at this worker" if figures.is_worker else ""
        if figures.blocked:
            blocked = counted(figures.blocked, "URL")
            return "operator", f"the operator: {blocked}, all that are queued{where}, are blocked"
        coming = counted(len(crawl.started), "request")
        return "nothing", f"nothing is queued{where}: {coming} in progress may bring links"
    states = figures.servers
    resting = states["resting"] + states["waiting"]
    with_urls = resting + states["ready"] + states["leased"]
    if with_urls == 1 and survey is not None and survey.longest is not None:
        server = survey.longest
        urls = max(0, len(server.urls) - survey.beyond_limits)
        left = duration(drain_time(server, crawl.frontier.servers.politeness_of(server), CLOCK(), urls))
        return (
            "one",
            f"one server left: {server.key[:60]}, {counted(urls, 'URL')}, about {left} ({rest_reason(server)[:60]})",
        )
    if shut := crawl.frontier.queue.shut:
        words = f"addresses: {counted(shut, 'server')} at IP addresses with FRONTIER_ADDRESS_SESSIONS sessions"
        return "addresses", words
    if resting and survey is not None and 2 * survey.failing > with_urls:
        failing = f"{min(survey.failing, with_urls)} of {counted(with_urls, 'server')}"
        return "failures", f"failures: {failing} fail, and are tried again for up to {duration(survey.failing_time)}"
    if resting:
        words = f"politeness: {resting} of {counted(with_urls, 'server')} {'rests' if resting == 1 else 'rest'}"
        return "politeness", words if figures.sessions else words + _next(crawl)
    words = f"few servers: {figures.sessions} of {figures.session_limit} connections are enough for all {with_urls}"
    return "few", f"{words} with URLs"


def _next(crawl: CrawlFrontier) -> str:
    found = crawl.dispatcher.waits_for()
    if found is None:
        return ""
    server, at = found
    return f"; next {server.key[:60]} in {duration(max(0.0, at - CLOCK()))} ({rest_reason(server)[:60]})"
