"""Metrics, dashboard and alerts: consistent, and understood by the real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from crawlproject.monitor.load import STATES
from crawlproject.monitor.metrics import METRICS, StatsMetrics, gauge_name, metric_of
from crawlproject.monitor.stat_names import SECTIONS
from crawlproject.options.all_settings import DEFAULTS
from testbed.children import free_port
from tests.crawl.crawling import crawling
from tests.crawl.differential import QUICK
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.waiting import until

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "monitoring"
DASHBOARD = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
STATS = re.findall(r"(?:monitor|workers)/[\w/]+", SECTIONS) + [f"monitor/servers/{state}" for state in STATES]
NAMES = {metric.name for metric in METRICS} | {gauge_name(stat) for stat in STATS}
METRIC = re.compile(r"\b(?:crawlproject|scrapy)_\w+")
LABELS = re.compile(r"(\w+)\{([^}]*)\}")


def collected(values: dict[str, Any]) -> dict[str, Any]:
    """Family -> its samples."""
    stats = StatsCollector(get_crawler())
    for name, value in values.items():
        stats.set_value(name, value)
    return {family.name: family for family in StatsMetrics(stats).collect()}


def test_names_are_distinct() -> None:
    """Of counters, and of the stats that they show."""
    assert len({each.name for each in METRICS}) == len(METRICS)
    assert len({each.stat for each in METRICS}) == len(METRICS)


def test_every_metric_that_the_dashboard_and_the_alerts_use_exists() -> None:
    """With the labels that they use."""
    alerts = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    used = set(METRIC.findall(" ".join(EXPRESSIONS) + alerts))
    assert len(used) > 25
    assert used <= NAMES
    labels = {each.name: {"instance", each.label} for each in METRICS}
    for expression in (*EXPRESSIONS, alerts):
        for name, inner in LABELS.findall(expression):
            if name in labels:
                assert set(re.findall(r"(\w+)\s*[=!]", inner)) <= labels[name], expression
        for by, name in re.findall(r"by \(instance, (\w+)\) \((?:rate|increase)\((\w+)\{", expression):
            assert by == next(each.label for each in METRICS if each.name == name)


def test_counters_and_labels() -> None:
    """A label's values come from the stats' names."""
    found = collected(
        {
            "frontier/pages": 5,
            "downloader/response_status_count/200": 4,
            "downloader/response_status_count/404": 1,
            "frontier/failures/timeout": 2,
            "frontier/links/new": 7,
            "frontier/links/aliased": 1,
            "fates/link/length": 8,
        }
    )
    assert found["crawlproject_pages"].type == "counter"
    assert [sample.name for sample in found["crawlproject_pages"].samples] == ["crawlproject_pages_total"]
    statuses = {sample.labels["status"]: sample.value for sample in found["crawlproject_responses"].samples}
    assert statuses == {"200": 4, "404": 1}
    assert {sample.labels["outcome"] for sample in found["crawlproject_links"].samples} == {"new"}
    assert metric_of("fates/link/length") is not None
    assert metric_of("my/stat") is None


def test_stats_of_the_monitor_and_of_a_worker_have_gauges_of_their_own() -> None:
    """All other numbers are one metric with the stat's name as a label."""
    values = {
        "monitor/servers/ready": 3,
        "workers/lag": 1.5,
        "workers/received/bad": 0,
        "workers/total/web/pages": 9,
        "web/pages": 5,
        "finish_reason": "finished",
        "workers": 1,
    }
    samples = [sample for family in collected(values).values() for sample in family.samples]
    assert {(sample.name, sample.labels.get("name", "")): sample.value for sample in samples} == {
        ("crawlproject_servers_ready", ""): 3,
        ("crawlproject_worker_lag", ""): 1.5,
        ("crawlproject_worker_received_bad", ""): 0,
        ("scrapy_stat", "workers/total/web/pages"): 9,
        ("scrapy_stat", "web/pages"): 5,
        ("scrapy_stat", "workers"): 1,
    }


@pytest.fixture(scope="module")
def promtool() -> str:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool (Debian's prometheus) is not installed")
    return program


@pytest.mark.parametrize(
    "arguments",
    [
        "check rules alerts.yml",
        "test rules alerts_test.yml",
        "check config prometheus.yml",
        "check config compose-prometheus.yml",
    ],
)
def test_promtool_finds_no_fault(promtool: str, arguments: str) -> None:
    """Rules, their tests, and the example of a configuration."""
    done = subprocess.run([promtool, *arguments.split()], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_compose_file_has_what_it_names() -> None:
    """Files that are mounted exist; Grafana gets a data source that its dashboard can choose, and the folder with it;
    Prometheus looks for the port that the workers open."""
    compose, config, source, provider = (
        yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
        for name in (
            *("compose.yml", "compose-prometheus.yml"),
            *("grafana/datasources/prometheus.yml", "grafana/dashboards/crawlproject.yml"),
        )
    )
    services = compose["services"]
    mounts = {}
    for service in services.values():
        for volume in service.get("volumes", ()):
            place, target, *_ = volume.split(":")
            assert (FOLDER / place).exists() if place.startswith(".") else place in compose["volumes"], volume
            mounts[target] = place
        assert set(service.get("depends_on", ())) <= services.keys()
    worker = services["worker"]
    assert (FOLDER / worker["build"]["context"] / worker["build"]["dockerfile"]).is_file()
    settings = dict(
        each.removeprefix("--set=").split("=", 1) for each in worker["command"] if each.startswith("--set=")
    )
    assert {name for name in settings if name.startswith("FRONTIER_")} <= DEFAULTS.keys()
    (found,) = config["scrape_configs"][0]["dns_sd_configs"]
    assert (found["names"], str(found["port"])) == (["worker"], settings["FRONTIER_METRICS_PORT"])
    assert mounts["/etc/prometheus/alerts.yml"] == "./alerts.yml"
    assert mounts["/etc/grafana/provisioning"] == "./grafana"
    (only,) = source["datasources"]
    kind = next(each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource")
    assert (only["type"], only["isDefault"], only["url"]) == (kind, True, "http://prometheus:9090")
    folder = provider["providers"][0]["options"]["path"]
    assert mounts[f"{folder}/crawlproject.json"] == "./grafana.json"


class Prometheus:
    """A running server that scrapes ``target``."""

    def __init__(self, program: str, folder: Path, target: int) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(FOLDER / "alerts.yml")],
            "scrape_configs": [{"job_name": "crawl", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        command = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        command.append(f"--web.listen-address={self.url.removeprefix('http://')}")
        with (folder / "prometheus.log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def ask(self, path: str, **parameters: str) -> Any:
        with urllib.request.urlopen(
            f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=60
        ) as found:
            return json.load(found)["data"]


@pytest.mark.long
def test_real_prometheus_answers_every_panel(tmp_path: Path) -> None:
    """It scrapes a crawl without a complaint; each panel's query is valid, most have values, and no alert fires."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed")
    port = free_port()
    settings = {
        **QUICK,
        "FRONTIER_METRICS_PORT": port,
        "FRONTIER_MONITOR_INTERVAL": 0.2,
        "JOBDIR": str(tmp_path / "job"),
    }
    with scripted_site(2) as site:

        class Everywhere(dict[str, Any]):
            def get(self, place: str, default: Any = None) -> Answer:
                path = place.lstrip("0123456789")
                if len(path) > 3 and path.endswith("1"):
                    return Answer(status=404)
                return Answer(page(f"{path}0", f"{path}1").body, headers={"Content-Type": "text/html"}, delay=0.05)

        site.script = Everywhere()
        spider = "tests.crawl.ordinary_spiders.StartUrlsSpider"
        sites = ",".join(site.origins)
        with crawling(spider, tmp_path, settings=settings, sites=sites, start="1/,2/"):
            server = Prometheus(program, tmp_path, port)
            try:
                _wait_for_scrapes(server)
                answers = {expression: _result(server, expression) for expression in EXPRESSIONS}
                firing = [alert["labels"]["alertname"] for alert in server.ask("alerts")["alerts"]]
                rules = [rule for group in server.ask("rules")["groups"] for rule in group["rules"]]
                names = ("crawlproject_pages", "crawlproject_pages_total")  # in OpenMetrics without _total
                known = [found for name in names for found in server.ask("targets/metadata", metric=name)]
            finally:
                server.process.terminate()
                server.process.wait(60)
    assert firing == []
    assert {rule["health"] for rule in rules} == {"ok"}
    assert [found["type"] for found in known] == ["counter"]
    empty = [expression for expression, result in answers.items() if not result]
    allowed = ("failures", "refused", "robots", "ended_queue", "worker", "log_lines", "quality_share", "links")
    assert [each for each in empty if not any(name in each for name in allowed)] == []


def _result(server: Prometheus, expression: str) -> Any:
    return server.ask("query", query=expression.replace("$instance", ".*").replace("$__rate_interval", "20s"))["result"]


def _wait_for_scrapes(server: Prometheus) -> None:
    """Until pages were seen by three scrapes, so that rates are known."""

    def are_known() -> bool:
        with suppress(OSError):
            return bool(_result(server, "count_over_time(crawlproject_pages_total[1m]) > 3"))
        return False

    until(are_known)
