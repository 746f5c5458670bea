"""Exports the crawl's stats to Prometheus over HTTP."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from crawlproject.monitor.metric_names import MAX_VALUES, metric_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from wsgiref.simple_server import WSGIServer

    from prometheus_client import Metric
    from scrapy.statscollectors import StatsCollector

    from crawlproject.monitor.metric_names import Metric as CrawlMetric

logger = logging.getLogger(__name__)


#: Beginnings of stats whose numbers are metrics of their own even if ``metric_names`` does not know them.
PREFIXES = {"monitor/": "crawlproject_", "workers/": "crawlproject_worker_"}

#: Stats in ``scrapy_stat``, at most: a spider may make up names.
MAX_STATS = 2_000


class StatsMetrics(Collector):
    """Scrapy's stats as metrics, read at each scrape. O(stats).

    The important ones have names, types and labels of their own (``metric_names``).  Every numeric stat outside
    ``monitor/`` and ``workers/`` is also a ``scrapy_stat`` with its name as a label.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Called in the HTTP server's thread while the crawl runs."""
        others = GaugeMetricFamily("scrapy_stat", "Scrapy's stats, by name", labels=["name"])
        left_out = 0
        found: dict[str, Metric] = {}
        for stat, value in sorted(dict(self._stats.get_stats()).items()):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            known = metric_of(stat)
            if known is not None:
                _add(found, *known, value)
            prefix, slash, rest = stat.partition("/")
            gauges = PREFIXES.get(prefix + slash)
            if gauges and not rest.startswith("total/"):  # the sums of all workers' stats
                if known is None:
                    name = gauges + re.sub(r"[^a-zA-Z0-9_]", "_", rest)
                    found[name] = GaugeMetricFamily(name, f"The stat {stat}", value)
            elif len(others.samples) < MAX_STATS:
                others.add_metric([stat], value)
            else:
                left_out += 1
        yield from found.values()
        yield others
        yield GaugeMetricFamily("crawlproject_stats_left_out", "Stats beyond those in scrapy_stat", left_out)


def _add(found: dict[str, Metric], metric: CrawlMetric, value_of_label: str, value: float) -> None:
    """Add a value to its family, which is made at the first."""
    family: Any = found.get(metric.name)
    if family is None:
        make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        labels = [metric.label] if metric.label else []
        text = metric.help + (f" ({metric.unit})" if metric.unit else "")
        family = found[metric.name] = make(metric.name, text, labels=labels)
    values = [value_of_label] if metric.label else []
    for number, sample in enumerate(family.samples):
        if list(sample.labels.values()) == values:  # "other" stands for several
            family.samples[number] = sample._replace(value=sample.value + value)
            return
    if len(family.samples) >= MAX_VALUES and values != ["other"]:
        _add(found, metric, "other", value)
    else:
        family.add_metric(values, value)


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
            logger.error("No metrics: METRICS_HOST=%r, METRICS_PORT=%d: %s", self._host, self._port, error)
            return
        logger.info("Metrics for Prometheus: http://%s:%d/metrics", self._host, self._port)

    async def stop(self) -> None:
        """Stop listening; takes up to half a second without blocking the loop."""
        if self._server is not None:
            server, thread = self._server
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            thread.join()
