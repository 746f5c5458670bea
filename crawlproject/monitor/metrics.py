"""Exports the crawl's stats to Prometheus over HTTP."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from wsgiref.simple_server import WSGIServer

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)


#: Beginning of a stat -> that of the gauge with its value.
PREFIXES = {"monitor/": "crawlproject_", "workers/": "crawlproject_worker_"}


class StatsMetrics(Collector):
    """Scrapy's stats as gauges, read at each scrape. O(stats).

    ``monitor/servers/ready`` becomes ``crawlproject_servers_ready``, ``workers/lag`` ``crawlproject_worker_lag``; every
    other numeric stat becomes a ``scrapy_stat`` with its name as a label.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called in the HTTP server's thread while the crawl runs."""
        others = GaugeMetricFamily("scrapy_stat", "Scrapy's stats, by name", labels=["name"])
        for name, value in sorted(dict(self._stats.get_stats()).items()):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            prefix, slash, rest = name.partition("/")
            gauges = PREFIXES.get(prefix + slash)
            if gauges and not rest.startswith("total/"):  # the sums of all workers' stats
                yield GaugeMetricFamily(gauges + rest.replace("/", "_"), f"The stat {name}", value)
            else:
                others.add_metric([name], value)
        yield others


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
