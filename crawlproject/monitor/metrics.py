"""Exports the crawl's stats to Prometheus over HTTP."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from crawlproject.urls.fates import PREFIX, Stage

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from wsgiref.simple_server import WSGIServer

    from prometheus_client import Metric
    from scrapy.statscollectors import StatsCollector


logger = logging.getLogger(__name__)

#: Beginnings of the names of stats that are gauges -> those of the metrics.
GAUGES = {"monitor/": "crawlproject_", "workers/": "crawlproject_worker_"}


class StatsMetrics(Collector):
    """Scrapy's stats as metrics, read at each scrape. O(stats).

    Important counters have names and labels of their own (``METRICS``); those of ``GAUGES`` are gauges.  Every other
    numeric stat is also a ``scrapy_stat`` with its name as a label.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Called in the HTTP server's thread while the crawl runs."""
        others = GaugeMetricFamily("scrapy_stat", "Scrapy's stats, by name", labels=["name"])
        found: dict[str, Any] = {}
        for stat, value in sorted(dict(self._stats.get_stats()).items()):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            known = metric_of(stat)
            if known is not None:
                metric, label = known
                if metric.name not in found:
                    labels = [metric.label] if metric.label else []
                    found[metric.name] = CounterMetricFamily(metric.name, metric.help, labels=labels)
                found[metric.name].add_metric([label] if metric.label else [], value)
            prefix, slash, rest = stat.partition("/")
            if prefix + slash not in GAUGES or rest.startswith("total/"):  # the sums of all workers' stats
                others.add_metric([stat], value)
            elif known is None:
                name = gauge_name(stat)
                found[name] = GaugeMetricFamily(name, f"The stat {stat}: docs/stats.md", value)
        yield from found.values()
        yield others


def gauge_name(stat: str) -> str:
    """The metric of the stat ``monitor/…`` or ``workers/…``. O(length)."""
    prefix, slash, rest = stat.partition("/")
    return GAUGES[prefix + slash] + re.sub(r"[^a-zA-Z0-9_]", "_", rest)


class MetricsServer:
    """Serves the metrics in a separate thread, so that they are available while the event loop is busy."""

    def __init__(self, stats: StatsCollector, host: str, port: int) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(StatsMetrics(stats))
        self._host = host
        self._port = port
        self._server: tuple[WSGIServer, threading.Thread] | None = None

    def start(self) -> None:
        """Start listening; on failure log an error and continue without metrics."""
        try:
            self._server = start_http_server(self._port, self._host, self._registry)
        except OSError as error:
            logger.error(
                "No metrics: FRONTIER_METRICS_HOST=%r, FRONTIER_METRICS_PORT=%d: %s", self._host, self._port, error
            )
            return
        logger.info("Metrics for Prometheus: http://%s:%d/metrics", self._host, self._port)

    async def stop(self) -> None:
        """Stop listening; takes up to half a second without blocking the loop."""
        if self._server is not None:
            server, thread = self._server
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            thread.join()


class CrawlMetric(NamedTuple):
    """A counter."""

    name: str
    help: str
    #: The stat, or what the names of the stats begin with, if it has a label.
    stat: str
    #: The rest of the stat's name is its value.
    label: str = ""
    #: Values of the label, if only some stats with this beginning belong to it.
    values: frozenset[str] = frozenset()


def _counter(name: str, text: str, stat: str, label: str = "", values: str = "") -> CrawlMetric:
    return CrawlMetric(f"crawlproject_{name}_total", text, stat, label, frozenset(values.split()))


METRICS: tuple[CrawlMetric, ...] = (
    _counter("pages", "pages fetched", "frontier/pages"),
    _counter("items", "items scraped", "item_scraped_count"),
    _counter("requests", "requests sent, robots.txt included", "downloader/request_count"),
    _counter("received_bytes", "bytes received", "downloader/response_bytes"),
    _counter("responses", "answers by HTTP status", "downloader/response_status_count/", "status"),
    _counter("failures", "requests that failed; error statuses are in `responses`", "frontier/failures/", "kind"),
    _counter("retries", "requests repeated by Scrapy", "retry/count"),
    _counter("links", "links found", "frontier/links/", "outcome", values="found new seen sent"),
    _counter("links_refused", "links not followed", f"{PREFIX}{Stage.LINK}/", "reason"),
    *(
        _counter(f"ended_{stage}", f"URLs that ended: {text}", f"{PREFIX}{stage}/", "reason")
        for stage, text in (
            (Stage.QUEUE, "dropped from the queue"),
            (Stage.REQUEST, "without an answer, or not sent"),
            (Stage.ANSWER, "with an answer"),
        )
    ),
    _counter("refused_addresses", "requests not sent because of their address", "guard/refused/", "kind"),
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
)

_EXACT = {metric.stat: metric for metric in METRICS if not metric.label}
_BY_PREFIX = {metric.stat: metric for metric in METRICS if metric.label}


def metric_of(stat: str) -> tuple[CrawlMetric, str] | None:
    """The metric of a stat, and the value of its label; None if it has none. O(length)."""
    if stat in _EXACT:
        return _EXACT[stat], ""
    prefix, slash, rest = stat.rpartition("/")
    metric = _BY_PREFIX.get(prefix + slash)
    if metric is None or (metric.values and rest not in metric.values):
        return None
    return metric, rest
