"""Many names at one IP address: a limit on the sessions there, whatever the names."""

from typing import Any

import pytest

from testbed.dns import Name, running_name_server
from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT, Crawl, crawl
from tests.crawl.scripted_site import Answer, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
NAMES, PAGES, MOST = 12, 3, 2
SITE = {
    "1/": Answer(page("/1", "/2").body, headers={"Content-Type": "text/html"}, delay=0.05),
    "1/1": Answer(delay=0.05),
    "1/2": Answer(delay=0.05),
}


def run(site: Site, **settings: Any) -> Crawl:
    """Crawl the names of server 1."""
    address, port = site.origins[0].removeprefix("http://").split(":")
    site.script = SITE
    names = [f"d{number}.test" for number in range(NAMES)]
    with running_name_server({name: Name((f"A {address}",)) for name in names}) as server:
        own = {
            **{"FRONTIER_DNS_SERVERS": server.address, "FRONTIER_ADDRESS_SESSIONS": MOST, "FRONTIER_DOMAIN_SHARE": 1},
            "ROBOTSTXT_OBEY": False,
        }
        seeds = ",".join(f"http://{name}:{port}/" for name in names)
        return crawl(WEB, settings={**IMPOLITE, **NO_HEARTBEAT, **own, **settings}, seeds=seeds)


def fetched(site: Site) -> list[tuple[str, str]]:
    return sorted((asked.headers["host"], asked.path) for asked in site.asked)


@pytest.mark.parametrize("ahead", [256, 0])
def test_no_more_sessions_than_allowed_and_every_page_once(ahead: int) -> None:
    """Whether addresses are known before the sessions, or only when a connection opens; nothing waits for a timer."""
    with scripted_site() as site:
        result = run(site, FRONTIER_DNS_PREFETCH=ahead)
    assert site.most_at_once(1) <= MOST
    assert len(fetched(site)) == len(set(fetched(site))) == NAMES * PAGES
    assert result.stat("frontier/sessions/max_open") >= MOST
    assert result.stat("elapsed_time_seconds") < PROMPT
    assert result.stat("finish_reason") == "finished"
    assert result.stat("frontier/given_back") <= NAMES, "each once: then its address is known"


def test_without_a_limit_all_have_a_session() -> None:
    """0; and by default at an address that is not public: it is the user's own."""
    for value in (0, None):
        with scripted_site() as site:
            run(site, FRONTIER_ADDRESS_SESSIONS=value)
        assert site.most_at_once(1) > MOST
