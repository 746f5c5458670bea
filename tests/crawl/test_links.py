"""Links elsewhere than in a page: in feeds, and in the header Refresh."""

from __future__ import annotations

import pytest

from tests.crawl.differential import QUICK, run_on
from tests.crawl.scripted_site import Answer, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"


def feed(kind: str, text: str, **headers: str) -> Answer:
    return Answer(text, headers={"Content-Type": kind, **headers})


def rss(*links: str) -> str:
    items = "".join(f"<item><title>t</title><link>{link}</link></item>" for link in links)
    return f"<?xml version='1.0'?><rss version='2.0'><channel><link>/channel</link>{items}</channel></rss>"


ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/self'/><entry><link href='/atom-1'/></entry></feed>"
MAP = "<urlset><url><loc>/listed</loc></url></urlset>"

#: Place -> answer, and which pages are found there.
FEEDS = {
    "1/rss": (feed("application/rss+xml; charset=utf-8", rss("/rss-1", "rss-2")), {"1/rss-1", "1/rss-2"}),
    "1/large": (feed("text/xml", rss(*(f"/large-{n}" for n in range(3)), *["/same"] * 5_000)), {"1/large-2", "1/same"}),
    "1/atom": (feed("application/xml", ATOM), {"1/atom-1"}),
    "1/closed": (feed("application/rss+xml", rss("/closed-1"), **{"X-Robots-Tag": "nofollow"}), set()),
    "1/broken": (feed("application/rss+xml", "<rss><"), set()),
    "1/map": (feed("text/xml", MAP), set()),
    "1/json": (feed("application/json", '{"url": "/json-1"}'), set()),
    "1/text": (feed("text/plain", "/text-1"), set()),
}


def test_links_in_feeds_are_followed() -> None:
    """Of RSS and Atom, whatever their media type and size; of sitemaps only as sitemaps, of other types none."""
    with scripted_site() as site:
        script = {place: answer for place, (answer, _) in FEEDS.items()}
        site.script = {"1/": page(*(place.removeprefix("1") for place in FEEDS)), **script}
        done = run_on(site, WEB, settings=QUICK, seeds=site.url("1/"))
    asked = set(site.places())
    expected = {"1/", *FEEDS, "1/large-0", "1/large-1"}.union(*(pages for _, pages in FEEDS.values()))
    assert asked == expected
    assert done.stat("web/skipped/content_type") == len(FEEDS)
    assert not done.has_errors()


#: A page -> its answer, and the page that the header leads to, if it is to be followed.
PAGES: dict[str, tuple[str, dict[str, str], str | None]] = {
    "html": ("", {"Content-Type": "text/html", "Refresh": "0; url=/html/next"}, "html/next"),
    "relative": ("", {"Content-Type": "text/html", "Refresh": '5;URL="next"'}, "next"),
    "base": ("<base href=/elsewhere/>", {"Content-Type": "text/html", "Refresh": "0;next2"}, "next2"),
    "text": ("wait", {"Content-Type": "text/plain", "Refresh": "1;url=/text/next"}, "text/next"),
    "nofollow": ("", {"Content-Type": "text/html", "Refresh": "0;url=/no", "X-Robots-Tag": "nofollow"}, None),
    "text_nofollow": ("", {"Content-Type": "text/plain", "Refresh": "0;url=/no", "X-Robots-Tag": "none"}, None),
    "seconds": ("", {"Content-Type": "text/html", "Refresh": "5"}, None),
    "script": ("", {"Content-Type": "text/html", "Refresh": "0;url=javascript:no()"}, None),
    "frames": (
        "<frameset><frame src=framed><noframes><meta http-equiv=refresh content='9;url=away'></noframes></frameset>",
        {"Content-Type": "text/html"},
        "framed",
    ),
    "long": ("", {"Content-Type": "text/html", "Refresh": "0;url=/" + "a" * 20_000}, None),
}


@pytest.mark.parametrize("lane", ["auto", "off"])
def test_a_refresh_by_header_is_followed_and_counted(lane: str) -> None:
    """Relative to the page, not to its base; bad targets are counted with the links, and nofollow is obeyed."""
    with scripted_site() as site:
        site.script = {f"1/{place}": Answer(body, headers=headers) for place, (body, headers, _) in PAGES.items()}
        site.script |= {f"1/{to}": page() for *_, to in PAGES.values() if to is not None}
        seeds = ",".join(site.url(f"1/{place}") for place in PAGES)
        settings = {**QUICK, "FRONTIER_FAST_LANE": lane}
        crawled = run_on(site, "crawlproject.spiders.web.WebSpider", settings=settings, seeds=seeds)
    asked = crawled.asked()
    assert {place.removeprefix("1/") for place in asked} - {"robots.txt"} == {
        *PAGES,
        *(to for *_, to in PAGES.values() if to is not None),
    }
    assert crawled.stat("fates/link/scheme") == 1
    assert crawled.stat("fates/link/length") == 1
    assert crawled.stat("frontier/links/found") == len(PAGES) + 5 + 2
