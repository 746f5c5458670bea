"""A domain that shows new subdomains on every page cannot keep good servers waiting."""

from itertools import count
from random import Random

from testbed.dns import Name, running_name_server
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
GOOD, PAGES, SESSIONS = 4, 20, 8
FARM = GOOD + 1


def text_page(name: str, *links: str) -> Answer:
    """A page with links, and text that no other page has."""
    rng = Random(name)
    return page(*links, title=" ".join("".join(rng.choices("abcdefgh", k=6)) for _ in range(40)))


def run() -> tuple[Site, Crawl]:
    """Crawl the good servers, whose first pages link to the farm, until four times as many pages have come."""
    with scripted_site(FARM) as site:
        address, port = site.origins[FARM - 1].removeprefix("http://").split(":")
        numbers = count()

        def farm(asked: Asked) -> Answer:
            return text_page(asked.headers["host"], *(f"http://n{next(numbers)}.farm.com:{port}/" for _ in range(20)))

        good = {
            f"{number}/{at or ''}": text_page(f"{number}/{at}", f"/{at + 1}", f"http://first{at}.farm.com:{port}/")
            for number in range(1, FARM)
            for at in range(PAGES)
        }
        site.script = good | {f"{FARM}/": farm}
        with running_name_server() as names:
            names.find = lambda name: Name((f"A {address}",)) if name.endswith(".farm.com") else None
            own = {
                "FRONTIER_DNS_SERVERS": names.address,
                "FRONTIER_MAX_SESSIONS": SESSIONS,
                "FRONTIER_MAX_BATCH": 10,
                "CLOSESPIDER_PAGECOUNT": 4 * GOOD * PAGES,
            }
            seeds = ",".join(site.url(f"{number}/") for number in range(1, FARM))
            return site, crawl(WEB, settings={**IMPOLITE, "LOG_LEVEL": "INFO", **own}, seeds=seeds)


def test_all_pages_of_the_others_are_fetched() -> None:
    """Although the farm never ends. What it costs without: 1757b206:scripts/bench_dead_servers.py."""
    site, result = run()
    fetched = {place for place in site.places() if not place.startswith(str(FARM))}
    assert fetched >= {f"{number}/{at or ''}" for number in range(1, FARM) for at in range(PAGES)}
    assert result.stat("finish_reason") == "closespider_pagecount"
