"""Names of metrics."""

from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from crawlproject.monitor.metrics import StatsMetrics


def test_stats_of_the_monitor_and_of_a_worker_have_gauges_of_their_own() -> None:
    """All other numbers are one metric with the stat's name as a label."""
    stats = StatsCollector(get_crawler())
    values = {
        "monitor/servers/ready": 3,
        "workers/partitions": 64,
        "workers/lag": 1.5,
        "workers/received/bad": 0,
        "workers/total/web/pages": 9,
        "web/pages": 5,
        "finish_reason": "finished",
        "workers": 1,
    }
    for name, value in values.items():
        stats.set_value(name, value)
    found = {
        (sample.name, sample.labels.get("name", "")): sample.value
        for family in StatsMetrics(stats).collect()
        for sample in family.samples
    }
    assert found == {
        ("crawlproject_servers_ready", ""): 3,
        ("crawlproject_worker_partitions", ""): 64,
        ("crawlproject_worker_lag", ""): 1.5,
        ("crawlproject_worker_received_bad", ""): 0,
        ("scrapy_stat", "workers/total/web/pages"): 9,
        ("scrapy_stat", "web/pages"): 5,
        ("scrapy_stat", "workers"): 1,
    }
