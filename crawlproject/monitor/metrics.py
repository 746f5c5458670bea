"""The crawl's numbers for Prometheus, over HTTP."""

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


class StatsMetrics(Collector):
    """Scrapy's stats as gauges, whenever they are asked for. O(stats).

    ``monitor/servers/ready`` becomes ``crawlproject_servers_ready``; every other stat that is a number is a
    ``scrapy_stat`` with its name as a label.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called in the server's thread, while the crawl goes on."""
        others = GaugeMetricFamily("scrapy_stat", "Scrapy's stats, by name", labels=["name"])
        for name, value in sorted(dict(self._stats.get_stats()).items()):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if name.startswith("monitor/"):
                metric = name.removeprefix("monitor/").replace("/", "_")
                yield GaugeMetricFamily(f"crawlproject_{metric}", f"The stat {name}", value)
            else:
                others.add_metric([name], value)
        yield others


class MetricsServer:
    """Answers in a thread of its own, so that a busy event loop is seen to be busy."""

    def __init__(self, stats: StatsCollector, host: str, port: int) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(StatsMetrics(stats))
        self._host = host
        self._port = port
        self._server: tuple[WSGIServer, threading.Thread] | None = None

    def start(self) -> None:
        """Listen; where that cannot be done, say so and let the crawl go on."""
        try:
            self._server = start_http_server(self._port, self._host, self._registry)
        except OSError as error:
            logger.error("No metrics: METRICS_HOST=%r, METRICS_PORT=%d: %s", self._host, self._port, error)
            return
        logger.info("Metrics for Prometheus: http://%s:%d/metrics", self._host, self._port)

    async def stop(self) -> None:
        """Listen no more; takes up to half a second, in which the loop is free."""
        if self._server is not None:
            server, thread = self._server
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            thread.join()
