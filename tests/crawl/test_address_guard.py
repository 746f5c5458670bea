"""No request reaches an internal address, whatever leads there: the target counts none."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.hostile_web import ALLOWED, EVIL_NAMES, LOOPBACK_HOSTS, OTHER_HOSTS, HostileWeb, hostile_web

if TYPE_CHECKING:
    from collections.abc import Iterator

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.hostile_spiders"


@pytest.fixture
def web() -> Iterator[HostileWeb]:
    """At the end, the target must have no connection."""
    with hostile_web() as served:
        yield served
        assert served.intruders == []


def run(
    web: HostileWeb,
    spider: str,
    urls: list[str] | None = None,
    *,
    addon: bool = True,
    exit_code: int = 0,
    **settings: Any,
) -> Crawl:
    """Crawl with only the public server's address allowed."""
    conditions = {
        **IMPOLITE,
        "FRONTIER_ALLOWED_NETWORKS": [f"{ALLOWED}/32"],
        "FRONTIER_DNS_SERVERS": [web.names.address],
        "FRONTIER_CONNECT_TIMEOUT": 30,
        "RETRY_TIMES": 1,
        "LOG_LEVEL": "INFO",
        **settings,
    }
    arguments = {"urls": json.dumps(urls)} if urls is not None else {"seeds": web.url("/")}
    result = crawl(spider, settings=conditions, addon=addon, **arguments)
    assert result.exit_code == exit_code, result.log
    return result


def refused(result: Crawl) -> int:
    """Requests refused, by the stats."""
    return sum(value for key, value in result.stats.items() if key.startswith("guard/refused/"))


def test_allowed_urls_reach_the_target(web: HostileWeb) -> None:
    """With loopback allowed the same URLs arrive: so the tests below can fail."""
    result = run(
        web,
        f"{SPIDERS}.ToldSpider",
        [web.url("/", "127.0.0.1"), web.url("/", "evil.test")],
        FRONTIER_ALLOWED_NETWORKS="127.0.0.0/8",
    )
    assert [item["text"] for item in result.items] == ["secret", "secret"]
    assert len(web.intruders) == 2
    web.intruders.clear()


def test_urls_of_internal_addresses_are_refused(web: HostileWeb) -> None:
    """In any notation, and by any name; each request fails, and none is retried."""
    hosts = [*LOOPBACK_HOSTS, *OTHER_HOSTS, *EVIL_NAMES]
    urls = [web.url("/", host) for host in hosts]
    urls += [f"https://127.0.0.1:{web.port}/", f"ftp://127.1:{web.port}/", f"ftp://evil.test:{web.port}/x"]
    urls += [f"HTTP:\\\\127.0.0.1:{web.port}\\", f"http:/127.0.0.1:{web.port}/", f"http:///127.0.0.1:{web.port}/"]
    web.page("/", "public")
    result = run(web, f"{SPIDERS}.ToldSpider", [*urls, web.url("/")], ROBOTSTXT_OBEY=True)
    outcomes = {item["told"]: item for item in result.items}
    assert outcomes.pop(web.url("/"))["text"] == "public"
    assert set(outcomes) == set(urls)
    assert [url for url, item in outcomes.items() if "failed" not in item] == []
    kinds = Counter(item["failed"] for item in outcomes.values())
    assert kinds["AddressRefused"] >= len(set(urls)) - 8, kinds  # the others are not URLs, or not names
    told = [item for item in outcomes.values() if item["failed"] == "AddressRefused"]
    assert [item for item in told if not item["ignored"] or "FRONTIER_ALLOWED_NETWORKS=" not in item["why"]] == []
    assert refused(result) >= kinds["AddressRefused"]
    assert result.stat("retry/count") == 0
    assert [key for key in result.stats if key.startswith("frontier/failures/")] == []


def test_redirects_to_internal_addresses_are_refused(web: HostileWeb) -> None:
    """With any status, relative to the scheme, with user names, over several hops, by name or address."""
    urls = []
    for number, host in enumerate([*LOOPBACK_HOSTS, *OTHER_HOSTS, *EVIL_NAMES]):
        status = (301, 302, 303, 307, 308)[number % 5]
        scheme = ("http:", "", "https:")[number % 3]
        location = f"{scheme}//{host}:{web.port}/".encode().decode("latin-1")
        urls.append(web.redirect(f"/{number}", location, status))
    urls.append(web.redirect("/file", "file:///etc/passwd"))
    urls.append(web.redirect("/ftp", f"ftp://127.0.0.1:{web.port}/x"))
    urls.append(web.redirect("/hop", web.url("/1")))
    urls.append(web.redirect("/backslash", f"http://good.test\\@127.0.0.1:{web.port}/"))
    urls.append(web.redirect("/crlf", f"http://127.0.0.1:{web.port}/#@good.test"))
    urls.append(web.page("/refresh", f"<meta http-equiv=refresh content='0;url=http://127.0.0.1:{web.port}/'>"))
    result = run(web, f"{SPIDERS}.ToldSpider", urls)
    assert len({item["told"] for item in result.items}) == len(urls)
    assert "secret" not in json.dumps(result.items)
    assert "root:" not in json.dumps(result.items)
    assert refused(result) >= len(urls) - 12


def test_links_sitemaps_and_robots_txt_do_not_lead_to_internal_addresses(web: HostileWeb) -> None:
    """In a broad crawl: links of a page, its canonical URL, its base, sitemaps, robots.txt of another server."""
    hosts = [*LOOPBACK_HOSTS, *OTHER_HOSTS, *EVIL_NAMES]
    links = "".join(f"<a href='http://{host}:{web.port}/{n}'>x</a>" for n, host in enumerate(hosts))
    links += f"<a href='//127.0.0.1:{web.port}/a'>x</a><a href='http://good.test:{web.port}/good'>x</a>"
    links += f"<a href='/based'>x</a><link rel=canonical href='http://127.0.0.1:{web.port}/canonical'>"
    web.page("/", links)
    web.page("/good", f"<base href='http://127.0.0.1:{web.port}/base/'><a href='x'>x</a><img src='y'>")
    web.answers["/robots.txt"] = (302, {"Location": f"http://127.0.0.1:{web.port}/robots.txt"}, "")
    result = run(web, WEB, ROBOTSTXT_OBEY=True, FRONTIER_LINKS_SITEMAPS=True)
    assert {item["server"] for item in result.items} <= {web.url(""), web.url("", "good.test")}
    assert result.stat("web/pages") >= 2
    assert refused(result) > 20
    assert result.stat("finish_reason") == "finished"


def test_name_that_changes_its_address_is_judged_by_the_new_one(web: HostileWeb) -> None:
    """DNS rebinding: the first answer is public, the next is not."""
    web.answers["/"] = (200, {"Connection": "close"}, "public")
    rebinding = web.url("/", "rebinding.test")
    result = run(
        web, f"{SPIDERS}.AfterwardsSpider", [rebinding, f"{rebinding}?2"], DNSCACHE_ENABLED=False, ROBOTSTXT_OBEY=False
    )
    outcomes = {item["told"]: item.get("status") or item["failed"] for item in result.items}
    assert outcomes[rebinding] == 200
    assert outcomes[f"{rebinding}?2"] == "AddressRefused"
    assert web.names.questions("rebinding.test") >= 2


def test_requests_that_bypass_the_scheduler_are_refused(web: HostileWeb) -> None:
    """``engine.download_async``, and media pipelines."""
    web.page("/", "public")
    hosts = ["127.0.0.1", "2130706433", "[::1]", "evil.test", "metadata.test"]
    urls = [web.url("/", host) for host in hosts]
    result = run(web, f"{SPIDERS}.AfterwardsSpider", [web.url("/"), web.url("/?2"), *urls])
    assert {item["told"]: item.get("failed") for item in result.items if item["told"] in urls} == dict.fromkeys(
        urls, "AddressRefused"
    )


def test_only_the_public_addresses_of_a_name_are_used(web: HostileWeb) -> None:
    """In any order of public and internal addresses."""
    web.page("/", "public")
    result = run(web, f"{SPIDERS}.ToldSpider", [web.url("/", "mixed.test")])
    assert [item["text"] for item in result.items] == ["public"]
    assert refused(result) == 0


def test_guard_holds_under_scrapys_own_scheduler(web: HostileWeb) -> None:
    """With this project's download handler and middleware, but Scrapy's scheduler."""
    hosts = ["127.0.0.1", "127.1", "[::ffff:127.0.0.1]", "evil.test"]
    urls = [web.url("/", host) for host in hosts]
    result = run(web, f"{SPIDERS}.ToldSpider", urls, SCHEDULER="scrapy.core.scheduler.Scheduler")
    assert [item["failed"] for item in result.items] == ["AddressRefused"] * 4


def test_proxy_may_have_any_address_but_not_the_target(web: HostileWeb) -> None:
    """A proxy on loopback is used; a request through it is refused if its URL has an internal address."""
    web.answers["http://public.test/"] = (200, {}, "by proxy")
    proxy = web.url("", ALLOWED)
    urls = ["http://public.test/", "http://127.0.0.1/", "http://2852039166/", "http://localhost/"]
    result = run(
        web,
        f"{SPIDERS}.ToldSpider",
        urls,
        FRONTIER_ALLOWED_NETWORKS=[],
        DOWNLOADER_MIDDLEWARES={"tests.crawl.hostile_spiders.ProxyMiddleware": 100},
        TEST_PROXY=proxy,
    )
    outcomes = {item["told"]: item.get("text") or item["failed"] for item in result.items}
    assert outcomes.pop("http://public.test/") == "by proxy"
    assert set(outcomes.values()) == {"AddressRefused"}


def test_a_few_refusals_are_logged_and_as_errors_those_of_seeds(web: HostileWeb) -> None:
    """The line names the setting that allows it."""
    web.page("/", "".join(f"<a href='http://evil.test:{web.port}/{n}'>x</a>" for n in range(20)))
    result = run(web, WEB, ROBOTSTXT_OBEY=True)
    lines = [line for line in result.log.splitlines() if "Refused:" in line]
    assert 1 <= len(lines) <= 10
    assert "WARNING" in lines[0]
    assert "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8" in lines[0]
    assert result.stat("guard/refused/loopback") == 21
    result = run(web, WEB, ROBOTSTXT_OBEY=True, FRONTIER_ALLOWED_NETWORKS=[], exit_code=1)
    (line,) = [line for line in result.log.splitlines() if "Refused:" in line]
    assert "ERROR" in line
    assert "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8" in line
