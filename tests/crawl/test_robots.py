"""robots.txt by RFC 9309 in real crawls, judged by the servers' log: an unreachable file disallows everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crawl.differential import QUICK, Run, run, run_on
from tests.crawl.scripted_site import Answer, Site, page, redirect, scripted_site

SPIDER = "StartUrlsSpider"
INLINE = "tests.crawl.inline_spiders"
FINE = page(title="fine")
ROBOTS = {**QUICK, "ROBOTSTXT_OBEY": True}
ALL = Answer("User-agent: *\nDisallow: /private\n")

#: The first one or two answers of a server for its robots.txt, before the rules.
OUTAGES: dict[int, list[Answer]] = {
    1: [Answer(status=503), Answer(status=503)],
    2: [Answer(status=500), Answer("User-agent: *\nAllow: /\n", status=502)],
    3: [Answer(status=429, headers={"Retry-After": "1"})],
    4: [Answer(reset=True), Answer(reset=True)],
    5: [Answer(delay=1000)],
    6: [Answer("User-agent: *\n", headers={"Content-Length": "99"})],
    7: [Answer(status=999)],
}


def places(*servers: int) -> str:
    """Three pages of each server, one of them private."""
    return ",".join(f"{server}/{name}" for server in servers for name in ("a", "b", "private/c"))


def pages(*servers: int) -> dict[str, Answer]:
    """The answers for them."""
    return {f"{server}/{name}": FINE for server in servers for name in ("a", "b", "private/c")}


def asked_for_rules(run: Run, server: int) -> int:
    """How often a server's robots.txt was requested."""
    return sum(one.path == "/robots.txt" for one in run.site.of(server))


@pytest.fixture(scope="module")
def outages() -> Run:
    """A crawl of servers whose robots.txt is unavailable at first."""
    settings = {**ROBOTS, "DOWNLOAD_TIMEOUT": 5, "FRONTIER_MIN_BACKOFF": 0.1, "FRONTIER_MAX_BACKOFF": 2}
    rules = {f"{server}/robots.txt": [*first, ALL] for server, first in OUTAGES.items()}
    return run(SPIDER, rules | pages(*OUTAGES), servers=len(OUTAGES), settings=settings, start=places(*OUTAGES))


@pytest.mark.parametrize("server", OUTAGES)
def test_no_page_is_fetched_before_robots_txt_is_available(outages: Run, server: int) -> None:
    """After server errors, 429, broken and slow answers: first the rules, then all pages that they allow."""
    paths = [one.path for one in outages.site.of(server)]
    tries = len(OUTAGES[server]) + 1
    assert paths[:tries] == ["/robots.txt"] * tries
    assert sorted(paths[tries:]) == ["/a", "/b"]


def test_retry_after_of_robots_txt_is_obeyed(outages: Run) -> None:
    """As for pages."""
    assert outages.site.gaps(3)[0] >= 1.0


def test_outages_are_counted(outages: Run) -> None:
    """In Scrapy's stats and in ours; no page is lost, and no error is logged."""
    assert outages.reason == "finished"
    assert not outages.has_errors()
    assert len(outages.items()) == 2 * len(OUTAGES)
    assert outages.stat("robotstxt/forbidden") == len(OUTAGES)
    assert outages.stat("robotstxt/unreachable") == sum(map(len, OUTAGES.values()))
    assert outages.stat("robotstxt/request_count") == sum(map(len, OUTAGES.values())) + len(OUTAGES)
    assert outages.stat("robotstxt/response_status_count/503") == 2
    assert outages.stat("robotstxt/response_status_count/200") == len(OUTAGES)
    assert outages.stat("robotstxt/given_up") == 0
    assert outages.stat("frontier/urls") == 0


def statuses(site: Site) -> dict[str, Any]:
    """Answers that are no outage."""
    chain = {f"{server}/hop": redirect(site.url(f"{server + 1}/hop")) for server in range(1, 5)}
    return (
        pages(*range(1, 10))
        | chain
        | {
            "1/robots.txt": redirect(site.url("1/hop"), 308),  # five hops: 1/hop to 5/hop
            "2/robots.txt": redirect("/private/rules"),
            "2/private/rules": ALL,
            "3/robots.txt": Answer(status=404),
            "4/robots.txt": Answer(ALL.body, status=403),
            "5/robots.txt": redirect(site.url("6/over")),  # and back, endlessly
            "6/over": redirect(site.url("5/robots.txt")),
            "5/hop": ALL,
            "6/robots.txt": Answer(ALL.body, status=302),  # without a target
            "7/robots.txt": Answer(f"<html>\n{ALL.body}", headers={"Content-Type": "text/html"}),
            "8/robots.txt": Answer(status=410),
            "9/robots.txt": Answer("User-agent: *\nDisallow: /private\n" + "Disallow: /x\n" * 400_000),
        }
    )


@pytest.fixture(scope="module")
def answered() -> Run:
    """A crawl of servers that answer for their robots.txt, one way or another."""
    settings = {**ROBOTS, "REDIRECT_MAX_TIMES": 1}
    return run(SPIDER, statuses, servers=9, settings=settings, start=places(*range(1, 10)))


@pytest.mark.parametrize(("server", "forbids"), [(1, True), (2, True), (7, True), (9, True), (3, False), (4, False)])
def test_rules_after_redirects_hold_and_4xx_allows_everything(answered: Run, server: int, forbids: bool) -> None:
    """Five hops across servers, HTML, 5 MB; the rules are for the first server, not for those between."""
    fetched = answered.asked(server)
    assert fetched[f"{server}/a"] == fetched[f"{server}/b"] == 1
    assert fetched[f"{server}/private/c"] == (0 if forbids else 1)


@pytest.mark.parametrize("server", [5, 6, 8])
def test_redirects_without_a_target_allow_everything(answered: Run, server: int) -> None:
    """Too many redirects, one without a target, and a file that is gone (410)."""
    assert answered.asked(server)[f"{server}/private/c"] == 1


def test_servers_of_redirects_get_one_request_at_a_time(answered: Run) -> None:
    """A redirected robots.txt counts as a request to the server of its target."""
    assert max(answered.site.most_at_once(server) for server in range(1, 10)) == 1
    assert answered.reason == "finished"
    assert answered.stat("robotstxt/truncated") == 1
    assert answered.stat("robotstxt/unreachable") == 0


def test_server_is_given_up_after_too_many_failures() -> None:
    """After FRONTIER_ROBOTS_MAX_FAILURES; its pages are counted, and their errbacks called."""
    settings = {**ROBOTS, "FRONTIER_ROBOTS_MAX_FAILURES": 3}
    with scripted_site(1) as site:
        site.script = {"/robots.txt": Answer(status=500)}
        ours = run_on(site, "tests.crawl.spiders.ErrbackSpider", settings=settings, root=site.origins[0], count="5")
    assert [one.path for one in site.asked] == ["/robots.txt"] * 3
    assert [item["error"] for item in ours.items()] == ["IgnoreRequest"] * 5
    assert ours.stat("robotstxt/given_up") == 1
    assert ours.stat("fates/request/server_given_up") == 5
    assert ours.reason == "finished"


def test_copy_found_by_a_redirect_is_used_for_both_servers() -> None:
    """As from http to https: one request for both; its sitemaps and delay also apply to the second."""
    with scripted_site(2) as site:
        delayed = Answer("User-agent: *\nDisallow: /private\nCrawl-delay: 0.3\n")
        site.script = {"1/robots.txt": redirect(site.url("2/robots.txt")), "2/robots.txt": delayed}
        site.script |= {"1/": page(*(site.url(f"2/{name}") for name in ("a", "b", "private/c")))} | pages(2)
        ours = run_on(site, SPIDER, settings=ROBOTS)
    assert [one.path for one in site.of(2)] in (["/robots.txt", "/a", "/b"], ["/robots.txt", "/b", "/a"])
    assert min(site.gaps(2)) >= 0.3
    assert ours.stat("robotstxt/forbidden") == 1


def test_expired_copy_is_replaced() -> None:
    """After FRONTIER_ROBOTS_CACHE_TIME the new rules hold, and the old Crawl-delay ends."""
    delayed = Answer("User-agent: *\nCrawl-delay: 1\n")
    script = {"/robots.txt": [delayed, Answer("User-agent: *\nDisallow: /9\n")], **{f"/{n}": FINE for n in range(10)}}
    start = ",".join(f"1/{number}" for number in range(10))
    ours = run(SPIDER, script, settings={**ROBOTS, "FRONTIER_ROBOTS_CACHE_TIME": 0.9}, start=start)
    assert ours.asked() == {f"1/{number}": 1 for number in range(9)}
    assert asked_for_rules(ours, 1) >= 2
    assert sum(gap >= 1 for gap in ours.site.gaps(1)) <= 5  # all, at least 10, if it went on


@pytest.mark.parametrize("status", [200, 503])
def test_media_pipeline_fetches_robots_txt_once(tmp_path: Path, status: int) -> None:
    """Five files of a server at once: one robots.txt, and no file if it is unavailable."""
    settings = {**ROBOTS, "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}, "FILES_STORE": str(tmp_path)}
    script = {"1/": FINE, "2/robots.txt": Answer(ALL.body, status, delay=0.3)}
    script |= {f"2/{number}": Answer("x") for number in range(5)}
    ours = run(
        f"{INLINE}.FilesSpider",
        script,
        servers=2,
        settings=settings | {"FRONTIER_MAX_BACKOFF": 2, "FRONTIER_MIN_BACKOFF": 2},
    )
    assert asked_for_rules(ours, 2) == 1
    assert [len(item["files"]) for item in ours.items()] == [5 if status == 200 else 0]
    assert ours.stat("robotstxt/unsent") == (0 if status == 200 else 5)
    assert ours.reason == "finished"


def test_pages_wait_in_jobdir_for_the_next_run(tmp_path: Path) -> None:
    """A crawl that ends while robots.txt is unavailable has lost nothing: with JOBDIR the next one fetches all."""
    settings = {**ROBOTS, "JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_TIMEOUT": 3, "FRONTIER_MAX_FAILURES": 0}
    with scripted_site(1) as site:
        site.script = {"/robots.txt": Answer(status=503), **pages(1)}
        first = run_on(site, SPIDER, settings={**settings, "FRONTIER_ROBOTS_MAX_FAILURES": 0}, start=places(1))
        assert site.places() == []
        site.script = {"/robots.txt": ALL, **pages(1)}
        second = run_on(site, SPIDER, settings={**settings, "CLOSESPIDER_TIMEOUT": 0}, start=places(1))
    assert first.reason == "closespider_timeout"
    assert first.stat("frontier/urls") == 3
    assert second.stat("frontier/resumed") == 3
    assert set(second.site.places()) == {"1/a", "1/b"}  # repeated by the spider's start, which filters nothing


def test_robots_txt_is_fetched_through_the_proxy_of_the_page() -> None:
    """Names need not resolve here."""
    hosts = [f"http://host{number}.example.com" for number in range(20)]
    script = {f"{host}/robots.txt": ALL for host in hosts} | {f"{host}/0": Answer(host) for host in hosts}
    settings = {**ROBOTS, "FRONTIER_MAX_SESSIONS": 8}
    ours = run(f"{INLINE}.ProxySpider", script, settings=settings, hosts=",".join(hosts))
    assert sorted(item["text"] for item in ours.items()) == sorted(hosts)
    assert sorted(one.path for one in ours.site.asked) == sorted(script)
    assert ours.stat("dns/lookups") == 0


#: A page -> its head, the header X-Robots-Tag, and whether its link is followed; the crawler is named ExampleBot.
FOLLOWED = {
    "all": ("<meta name=robots content=nofollow>", "", False),
    "own": ("<meta name=ExampleBot content='noindex, nofollow'>", "", False),
    "other": ("<meta name=OtherBot content=nofollow>", "", True),
    "noindex": ("<meta name=examplebot content=noindex>", "", True),
    "header": ("", "noindex, none", False),
    "own_header": ("", "ExampleBot: none", False),
    "other_header": ("", "OtherBot: none", True),
    "preview": ("", "max-image-preview: none", True),
}


def test_links_are_not_followed_from_pages_that_forbid_it() -> None:
    """To all robots, or to this one by name; also if another component has parsed the page first."""
    script = {
        f"1/{place}": Answer(
            f"{head}<a href=/{place}/next>next</a>", headers={"Content-Type": "text/html", "X-Robots-Tag": tag}
        )
        for place, (head, tag, _) in FOLLOWED.items()
    }
    with scripted_site() as site:
        site.script = script
        seeds = ",".join(f"{site.origins[0]}/{place}" for place in FOLLOWED)
        settings = {
            **QUICK,
            "USER_AGENT": "OtherBot/1.0",
            "ROBOTSTXT_USER_AGENT": "Mozilla/5.0 (compatible; ExampleBot/2.1)",
        }
        crawled = run_on(site, "crawlproject.spiders.web.WebSpider", settings=settings, seeds=seeds)
    followed = {place for place in FOLLOWED if crawled.asked()[f"1/{place}/next"]}
    assert followed == {place for place, (*_, is_followed) in FOLLOWED.items() if is_followed}
    assert crawled.stat("web/nofollow_pages") == len(FOLLOWED) - len(followed)
