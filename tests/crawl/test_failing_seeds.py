"""What the log says about seeds that cannot be fetched, and about failed pages."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from testbed.dns import running_name_server
from testbed.redis_server import RunningRedis
from testbed.workers import environment
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.processes import run_python

WEB = "crawlproject.spiders.web.WebSpider"
ON_LOOPBACK = [
    "-s",
    "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8",
    "-s",
    "FRONTIER_MIN_DELAY=0",
    "-s",
    "FRONTIER_DELAY_FACTOR=0",
]


def lines(log: str, level: str) -> list[str]:
    """The messages of one level."""
    return [line.split(f"] {level}: ", 1)[1] for line in log.splitlines() if f"] {level}: " in line]


def test_log_gives_reasons_of_failed_seeds_and_counts_of_failed_pages() -> None:
    """The reason for each seed during the crawl, an error and exit code 1 at the end; failed pages only in numbers."""
    with scripted_site(4, tls=(2,)) as site, running_name_server() as names, socket.socket() as unused:
        unused.bind(("127.4.0.9", 0))  # does not listen
        refused = f"http://127.4.0.9:{unused.getsockname()[1]}"
        missing = [f"/missing/{number}" for number in range(30)]
        site.script = {
            "1/robots.txt": Answer("User-agent: *\nDisallow: /\n"),
            "4/robots.txt": Answer("User-agent: *\nDisallow: /private\nCrawl-delay: 1\n"),
            "4/": page(*missing[:2], "/private", "/busy", f"{refused}/x"),
            "4/busy": Answer(status=500),
        }
        seeds = ["http://x.invalid", refused, "http://10.0.0.1", *(site.url(f"{n}/") for n in (1, 2, 3))]
        crawl = ["crawl", "web", "-s", "FRONTIER_ROBOTS_MAX_FAILURES=2", "-s", "FRONTIER_MIN_BACKOFF=0.1", *ON_LOOPBACK]
        crawl += ["-s", f"FRONTIER_DNS_SERVERS={names.address}"]
        all_fail = [*crawl, "-s", "DOWNLOAD_VERIFY_CERTIFICATES=True", "-a", f"seeds={','.join(seeds)}"]
        some_fail = [
            *crawl,
            "-s",
            "FRONTIER_MONITOR_INTERVAL=0.5",
            "-s",
            "RETRY_TIMES=1",
            "-a",
            f"seeds={site.url('4/')}",
        ]
        failed = run_python("-m", "scrapy", *all_fail, env=environment())
        done = run_python("-m", "scrapy", *some_fail, env=environment())

    assert failed.returncode == 1, failed.stderr
    assert "Traceback" not in failed.stderr + done.stderr
    warnings = "\n".join(lines(failed.stderr, "WARNING"))
    for words in (
        f"robots.txt of {refused} is unavailable: connection refused; try 2 of 2",
        f"robots.txt of {site.origins[1]} is unavailable: TLS certificate: self-signed certificate; try 2 of 2",
        f"Not fetched: <GET {site.url('1/')}>: Forbidden by robots.txt",
        f"Not fetched: <GET {site.url('3/')}>: status 404",
    ):
        assert words in warnings
    refusal, error = lines(failed.stderr, "ERROR")
    assert refusal.startswith("Refused: http://10.0.0.1 is not contacted: its address 10.0.0.1 is private")
    assert error.startswith("No seed could be fetched: ")
    assert re.search(r"x\.invalid is (given up|unavailable): no such name: x\.invalid", warnings)  # by one look-up
    assert re.search(r"http://x\.invalid: (robots\.txt: )?no such name: x\.invalid", error)
    assert "Closing spider (no_seed_fetched)" in failed.stderr

    assert (done.returncode, lines(done.stderr, "ERROR")) == (0, [])
    told = lines(done.stderr, "INFO")
    counts = next(line for line in told if line.startswith("Not fetched so far: "))
    for count in ("not found: 2", "server error: 1", "forbidden by robots.txt: 1", "retries: 1", "server given up: 1"):
        assert count in counts
    assert not [line for line in told if "/missing" in line or "/busy" in line]
    assert [line for line in told if line.startswith("Waiting: one server left: ") and "(Crawl-delay 1 s)" in line]


def test_crawl_of_a_seed_that_refuses_connections_ends_early(tmp_path: Path) -> None:
    """Nothing else is left, and the next try would come too late. The seed stays queued for the next run."""
    with socket.socket() as unused:
        unused.bind(("127.4.0.9", 0))  # does not listen
        seed = f"http://127.4.0.9:{unused.getsockname()[1]}/"
    late = {"FRONTIER_MIN_BACKOFF": 100, "ROBOTSTXT_OBEY": True, "JOBDIR": str(tmp_path / "job"), **IMPOLITE}
    failed = crawl(WEB, settings=late, seeds=seed)
    assert failed.stat("finish_reason") == "no_seed_fetched"
    assert failed.stat("robotstxt/request_count") == 1
    assert (failed.stat("frontier/servers/left"), failed.stat("fates/queue/no_answer")) == (1, 1)
    assert f"No seed could be fetched: {seed.rstrip('/')}: robots.txt: connection refused" in failed.log
    assert "Only servers that have never answered are left" in failed.log
    shown = run_python("-m", "scrapy", "frontier", str(tmp_path / "job"), "--json", env=environment())
    counts = json.loads(shown.stdout)
    assert (counts["urls_queued"], counts["servers_resting"], counts["servers_given_up"]) == (1, 1, 0)


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_a_failing_seed_is_tried_as_long_as_another_answers(backend: str, redis_server: RunningRedis) -> None:
    """It is left when the last page is there, and what that has brought: not before."""
    with scripted_site(2) as site:
        site.script = {"1/": Answer(reset=True), "2/": page("/a", "/b"), "2/a": page(), "2/b": page()}
        settings = {"FRONTIER_MIN_BACKOFF": 100, **IMPOLITE, "DOWNLOAD_DELAY": 1, "ROBOTSTXT_OBEY": False}
        if backend == "redis":
            settings |= {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis_server.url}
        done = crawl(WEB, settings={**settings, "LOG_LEVEL": "INFO"}, seeds=f"{site.url('1/')},{site.url('2/')}")
        assert sorted(site.places()) == ["1/", "2/", "2/a", "2/b"]
    assert done.stat("finish_reason") == "finished"
    assert (done.stat("frontier/servers/left"), done.stat("frontier/pages")) == (1, 3)
