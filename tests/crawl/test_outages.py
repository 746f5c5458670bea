"""What fails because of this machine, its network or its name servers, costs no page and no server."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from testbed.dns import Name, running_name_server
from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT, Crawl, crawl, crawling, read_results
from tests.crawl.scripted_site import Site, page, scripted_site
from tests.waiting import until

WEB = "crawlproject.spiders.web.WebSpider"
INLINE = "tests.crawl.inline_spiders.InlineSpider"
SERVERS = 6
PLACES = sorted(f"{server}/{name}" for server in range(1, SERVERS + 1) for name in ("", "a", "b"))

#: A connection for each page, one after the other: first those of all servers that the seeds name.
ONE: dict[str, Any] = {
    **IMPOLITE,
    "FRONTIER_POLICY": "quality",
    "FRONTIER_QUALITY": "depth",
    **NO_HEARTBEAT,
    "FRONTIER_OUTAGE_FAILURES": 2,
    "FRONTIER_MAX_SESSIONS": 1,
    "FRONTIER_MAX_BATCH": 1,
    "FRONTIER_MIN_BACKOFF": 0.01,
    "FRONTIER_MAX_BACKOFF": 0.02,
    "RETRY_TIMES": 5,
    "LOG_LEVEL": "INFO",
}

NO_NETWORK: dict[str, Any] = {
    "TEST_NO_NETWORK": {"after": 0, "count": 0, "code": "ENETUNREACH"},
    "EXTENSIONS": {"tests.crawl.cut_off_network.NoNetwork": 1},
}


def run(site: Site, after: int, count: int, code: str = "ENETUNREACH", dead: tuple[str, ...] = (), **own: Any) -> Crawl:
    """Crawl six servers with three pages each, without a network for ``count`` connections."""
    site.script = {"/": page("/a", "/b"), "/a": page(), "/b": page()}
    network = {"TEST_NO_NETWORK": {"after": after, "count": count, "code": code, "dead": dead}}
    seeds = ",".join(site.url(f"{server}/") for server in range(1, SERVERS + 1))
    return crawl(WEB, settings=ONE | NO_NETWORK | network | own, seeds=seeds)


def test_an_outage_costs_no_page() -> None:
    """Connections of requests and of three rounds fail; as failed count only those before the outage is suspected."""
    with scripted_site(SERVERS) as site:
        result = run(site, 4, 11)
    assert sorted(site.places()) == PLACES
    assert result.stat("frontier/outages") == 1
    assert result.stat("frontier/outage_time") > 0
    assert result.stat("frontier/given_back") == 1
    assert result.stat("retry/max_reached") == result.stat("fates/queue/server_given_up") == 0
    assert result.stat("elapsed_time_seconds") < PROMPT
    assert "Outage: no server can be reached, not even those that answered before" in result.log
    assert "The outage is over after" in result.log


def test_an_interrupt_ends_what_waits_for_the_end_of_an_outage(tmp_path: Path) -> None:
    """The network does not come back."""
    network = {"TEST_NO_NETWORK": {"after": 4, "count": 1_000_000, "code": "ENETUNREACH"}}
    log = tmp_path / "log"
    with scripted_site(4) as site:
        site.script = {"/": page(), "4/": page(site.url("1/inline"))}
        settings = ONE | NO_NETWORK | network | {"RETRY_TIMES": 2, "LOG_FILE": str(log)}
        arguments = {"sites": ",".join(site.origins), "start": "1/,2/,3/,4/"}
        with crawling(INLINE, tmp_path, settings=settings, **arguments) as process:
            until(lambda: log.exists() and "Outage:" in log.read_text(), process, log)
            process.send_signal(signal.SIGINT)
            process.communicate()
    result = read_results(tmp_path, process.returncode, log.read_text())
    assert result.stat("finish_reason") == "shutdown"
    assert ["error" in item for item in result.items if item["case"] == "inline"] == [True]


def test_servers_that_fail_while_others_answer_are_no_outage() -> None:
    """They are given up as usual: those that answered before are asked, and do."""
    with scripted_site(SERVERS) as site:
        result = run(site, 0, 0, "ETIMEDOUT", ("127.4.0.1", "127.4.0.2"), FRONTIER_MAX_FAILURES=3)
    assert sorted(set(site.places())) == [place for place in PLACES if place[0] not in "12"]
    assert result.stat("frontier/outages") == 0
    assert result.stat("finish_reason") == "finished"


def test_an_unreachable_server_costs_no_page() -> None:
    """One that has answered before: after the last retry a page waits until its server answers."""
    network = {"TEST_NO_NETWORK": {"after": 1, "count": 7, "code": "ETIMEDOUT", "of": "127.4.0.1"}}
    with scripted_site(SERVERS) as site:
        result = run(site, 0, 0, **network, RETRY_TIMES=1)
    assert sorted(site.places()) == PLACES
    assert result.stat("retry/count") == 2
    assert result.stat("retry/max_reached") == 0
    assert result.stat("frontier/given_back") == 5
    assert result.stat("downloader/exception_count") == 7


@pytest.mark.parametrize(("limit", "failed"), [(5, "fates/request/server_given_up"), (0, "retry/max_reached")])
def test_pages_of_a_server_that_stays_unreachable_fail(limit: int, failed: str) -> None:
    """When it is given up, or after their retries if that is never."""
    network = {"TEST_NO_NETWORK": {"after": 1, "count": 1_000_000, "code": "ECONNREFUSED", "of": "127.4.0.1"}}
    with scripted_site(SERVERS) as site:
        result = run(site, 0, 0, **network, RETRY_TIMES=1, FRONTIER_MAX_FAILURES=limit)
    assert sorted(site.places()) == [place for place in PLACES if place not in ("1/a", "1/b")]
    assert result.stat(failed) > 0
    assert result.stat("finish_reason") == "finished"


def test_a_resumed_crawl_that_starts_without_a_network_waits(tmp_path: Path) -> None:
    """Its servers answered in the run before."""
    job = {"JOBDIR": str(tmp_path / "job")}
    with scripted_site(SERVERS) as site:
        run(site, 0, 0, **job, CLOSESPIDER_PAGECOUNT=SERVERS)
        assert sorted(site.places()) == [f"{server}/" for server in range(1, SERVERS + 1)]
        result = run(site, 0, 12, **job)
    assert sorted(site.places()) == PLACES
    assert result.stat("frontier/outages") == 1
    assert result.stat("retry/max_reached") == 0


def test_without_the_setting_failures_count() -> None:
    """``FRONTIER_OUTAGE_FAILURES = 0``."""
    with scripted_site(SERVERS) as site:
        result = run(site, 4, 40, FRONTIER_OUTAGE_FAILURES=0, RETRY_TIMES=1)
    assert result.stat("frontier/outages") == 0
    assert result.stat("retry/max_reached") > 0


def test_an_outage_of_the_name_servers_costs_no_server() -> None:
    """They fail from the fifth name on, until they were asked twice for each of the others again."""
    hosts = [f"server{number}.test" for number in range(1, SERVERS + 1)]
    early, late = hosts[:4], hosts[4:]
    again = 0

    with scripted_site(SERVERS) as site, running_name_server() as names:

        def find(name: str) -> Name | None:
            nonlocal again
            is_down = any(names.questions(each) for each in late) and again < 2 * len(early)
            again += is_down and name in early
            return Name(rcode="SERVFAIL") if is_down else Name((f"A 127.4.0.{hosts.index(name) + 1}",))

        names.find = find
        urls = [f"http://{host}:{origin.rpartition(':')[2]}/" for host, origin in zip(hosts, site.origins, strict=True)]
        site.script = {"/": page("/a"), "/a": page("/b"), "/b": page(*urls)}  # first the names of all seeds
        own = {"FRONTIER_DNS_SERVERS": names.address, "FRONTIER_MAX_FAILURES": 3}
        result = crawl(WEB, settings=ONE | NO_NETWORK | own, seeds=",".join(urls[:4]))
    assert sorted(site.places()) == PLACES
    assert result.stat("frontier/outages") == 1
    assert "Outage: no name server answers, not even those that answered before" in result.log
    assert result.stat("fates/queue/server_given_up") == 0


def test_a_process_without_file_descriptors_fails_no_request() -> None:
    """They wait until others are closed."""
    with scripted_site(SERVERS) as site:
        result = run(site, 4, 5, "EMFILE", RETRY_TIMES=0)
    assert sorted(site.places()) == PLACES
    assert result.stat("frontier/out_of_files") == 5
    assert result.stat("frontier/outages") == result.stat("retry/count") == 0
    assert result.log.count("Too many open files") == 1
