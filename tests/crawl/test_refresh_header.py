"""Refreshes as in browsers, whichever way the page takes: the header is a link, ``<noframes>`` is ignored."""

from __future__ import annotations

import pytest

from tests.crawl.differential import QUICK, run_on
from tests.crawl.scripted_site import Answer, page, scripted_site

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
