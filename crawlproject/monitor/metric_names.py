"""The metrics for Prometheus: which stats they show, their types, units and labels. docs/watch.md lists them."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from crawlproject.monitor.server_state import BLOCKED, FULL, LEFT, STATES

Kind = Literal["counter", "gauge"]

#: Values of one label, at most; further ones are counted under ``other``.
MAX_VALUES = 100

#: What a value of a label looks like; anything else is ``other``.
_plain = re.compile(r"[A-Za-z0-9_.]{1,40}").fullmatch


class Metric(NamedTuple):
    """One metric."""

    #: Without ``_total``, which counters end with.
    name: str
    kind: Kind
    #: Empty for plain numbers.
    unit: str
    help: str
    #: The stat, or what the names of the stats begin with, if it has a label.
    stat: str
    #: The rest of the stat's name is its value.
    label: str = ""
    #: Values of the label, if only some stats with this beginning belong to it.
    values: frozenset[str] = frozenset()

    @property
    def full_name(self) -> str:
        """As Prometheus stores it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def _counter(name: str, text: str, stat: str, label: str = "", values: str = "") -> Metric:
    unit = "bytes" if name.endswith("_bytes") else ""
    return Metric(f"crawlproject_{name}", "counter", unit, text, stat, label, frozenset(values.split()))


def _gauge(name: str, text: str, stat: str = "", unit: str = "") -> Metric:
    return Metric(f"crawlproject_{name}", "gauge", unit, text, stat or f"monitor/{name}")


METRICS: tuple[Metric, ...] = (
    _counter("pages", "pages fetched", "frontier/pages"),
    _counter("items", "items scraped", "item_scraped_count"),
    _counter("requests", "requests sent, robots.txt included", "downloader/request_count"),
    _counter("received_bytes", "bytes received", "downloader/response_bytes"),
    _counter("responses", "answers by HTTP status", "downloader/response_status_count/", "status"),
    _counter("failures", "requests that failed; error statuses are in `responses`", "frontier/failures/", "kind"),
    _counter("retries", "requests repeated by Scrapy", "retry/count"),
    _counter("links", "links found", "frontier/links/", "outcome", values="found new seen sent"),
    _counter("links_skipped", "links not followed", "frontier/links/skipped/", "reason"),
    _counter("dropped_urls", "queued URLs dropped", "frontier/dropped/", "reason"),
    _counter("refused_addresses", "requests not sent because of their address", "guard/refused/", "kind"),
    _counter("robots_forbidden", "requests that robots.txt disallows", "robotstxt/forbidden"),
    _counter("robots_unreachable", "times that a robots.txt was unavailable", "robotstxt/unreachable"),
    _counter("duplicates", "pages that are copies", "duplicates/", "kind", values="exact near"),
    _counter("sessions_opened", "sessions opened", "frontier/sessions"),
    _counter("commits", "commits to disk", "frontier/commits"),
    _counter("commit_errors", "failed commits", "frontier/commit_errors"),
    _counter("repository_failures", "pages that could not be written to WARC files", "repository/failures"),
    _counter("dns_failures", "failed DNS look-ups", "dns/failures/", "kind"),
    _counter("outages", "times that this machine's network or name servers did not work", "frontier/outages"),
    _counter("throttled", "times that the limit on sessions was lowered", "monitor/throttled"),
    _counter("console_actions", "actions of the operator", "console/actions"),
    _counter("log_lines", "lines of the log", "log_count/", "level"),
    _gauge("sessions", "open sessions"),
    _gauge("session_limit", "sessions allowed now"),
    _gauge("connections", "open connections"),
    _gauge("dns_lookups", "DNS look-ups in progress"),
    _gauge("urls", "URLs queued"),
    _gauge("urls_blocked", "of these, on servers that the operator has blocked", "monitor/urls/blocked"),
    *(
        _gauge(f"servers_{name}", f"servers: {text}", f"monitor/servers/{name}")
        for name, text in ((state.replace(" ", "_"), text) for state, text in STATES.items())
        if name not in (BLOCKED, FULL, LEFT)  # not counted
    ),
    _gauge("quality_gathered", "estimated quality of the pages fetched, earlier runs included"),
    _gauge("quality_share", "quality gathered, as a share of what is known; from 0 to 1"),
    _gauge("pages_per_second", "pages per second since the last sample", unit="1/s"),
    _gauge("bytes_per_second", "bytes per second since the last sample", unit="bytes/s"),
    _gauge("lag", "mean lateness of the event loop since the last sample", unit="seconds"),
    _gauge("lag_max", "highest of these means", "monitor/lag/max", "seconds"),
    _gauge("lag_longest", "longest single delay of the event loop", "monitor/lag/longest", "seconds"),
    _gauge("cpu", "CPU time of the process per second; one event loop uses at most 1"),
    _gauge("memory", "memory of the process", unit="bytes"),
    _gauge("memory_max", "highest memory of the process", "monitor/memory/max", "bytes"),
    _gauge("session_limit_lowest", "lowest limit on sessions so far", "monitor/session_limit/lowest"),
    *(
        Metric(f"crawlproject_worker_{name}", "gauge", unit, text, f"workers/{stat}")
        for name, stat, unit, text in (
            ("pages", "pages", "", "pages of all workers"),
            ("partitions", "partitions", "", "partitions that this worker owns"),
            ("lag", "lag", "seconds", "time since Redis confirmed the last changes"),
            ("taken", "taken", "", "partitions taken so far"),
            ("released", "released", "", "partitions given back so far"),
            ("lost", "lost", "", "partitions that other workers took because this worker did not reach Redis"),
            ("sent", "sent", "", "URLs sent to other workers"),
            ("sent_refused", "sent/refused", "", "URLs not sent because they are too long"),
            ("received", "received", "", "URLs received from other workers"),
            ("received_bad", "received/bad", "", "of these, unreadable"),
            ("redis_away", "redis_away", "", "times that Redis did not answer"),
            ("cuts", "cuts", "", "sets of changes that Redis has confirmed"),
            ("calls", "calls", "", "round trips to Redis"),
            ("snapshots", "snapshots", "", "snapshots of partitions written"),
            ("start_urls", "start_urls", "", "start URLs taken from Redis"),
            ("start_urls_bad", "start_urls/bad", "", "of these, unusable"),
        )
    ),
)

_EXACT = {metric.stat: metric for metric in METRICS if not metric.label}
_BY_PREFIX = {metric.stat: metric for metric in METRICS if metric.label}


def metric_of(stat: str) -> tuple[Metric, str] | None:
    """The metric of a stat, and the value of its label; None if it has none. O(length)."""
    if stat in _EXACT:
        return _EXACT[stat], ""
    prefix, slash, rest = stat.rpartition("/")
    metric = _BY_PREFIX.get(prefix + slash)
    if metric is None or (metric.values and rest not in metric.values):
        return None
    return metric, rest if _plain(rest) else "other"
