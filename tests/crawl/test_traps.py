"""Crawls of a web with traps, judged by the servers' log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from crawlproject.frontier.guard.idle_parts import IdleParts
from crawlproject.frontier.guard.judge import LEAST_VAIN
from crawlproject.frontier.guard.patterns import GuardLimits
from testbed.web import WebSpec, into_traps, running_web
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.differential import run_on
from tests.crawl.nasty_server import page, response, running
from tests.crawl.scripted_site import Answer, scripted_site
from tests.crawl.scripted_site import page as script_page
from tests.generated_sites import words

if TYPE_CHECKING:
    from pathlib import Path

#: Whether it is an address that the guard asks for.
FAR = re.compile(r"zqx|=90+[0-9]|/90000").search
WEB = "crawlproject.spiders.web.WebSpider"


def test_few_requests_go_into_traps() -> None:
    """With traps on a tenth of the servers, twelve for each; every real page is fetched, and the crawl finishes."""
    share = 0.1 / 3
    spec = WebSpec(*(40, 600), seed=2, time_scale=0, calendar_share=share, session_share=share, repeat_share=share)
    with running_web(spec) as web:
        result = crawl(WEB, settings={**IMPOLITE, "LOG_LEVEL": "INFO"}, seeds=",".join(web.seeds))
        web.keep_records()
    requests = [record for record in web.records() if record.kind == "request"]
    assert {server.trap for server in web.web.servers} == {"", "calendar", "session", "repeat"}
    traps = sum(server.trap != "" for server in web.web.servers)
    assert 0 < len(into_traps(web.records())) <= LEAST_VAIN + 12 * traps
    fetched = {(record.server, record.page) for record in requests if record.status == 200 and record.page}
    assert len(fetched) == len(web.web.expected) == 600
    assert result.stat("finish_reason") == "finished"


def calendar_site() -> dict[str, tuple[bytes, ...]]:
    """A calendar of sixty months."""
    site = {"/": (response(page("/calendar/2020/01/", "/about")),)}
    for number in range(60):
        around = [f"/calendar/{2020 + n // 12}/{n % 12 + 1:02}/" for n in (number - 1, number + 1) if 0 <= n < 60]
        site[f"/calendar/{2020 + number // 12}/{number % 12 + 1:02}/"] = (response(page(*around, title=str(number))),)
    return site


def test_guard_can_be_switched_off_and_servers_released() -> None:
    """The calendar is then fetched to its end."""
    with running({"site": calendar_site()}) as roots:
        seeds = f"{roots['site']}/"
        host = roots["site"].partition("://")[2].partition(":")[0]
        guarded = crawl(WEB, settings=IMPOLITE, seeds=seeds)
        unguarded = crawl(WEB, settings={**IMPOLITE, "FRONTIER_GUARD_ENABLED": False}, seeds=seeds)
        released = crawl(WEB, settings={**IMPOLITE, "FRONTIER_GUARD_RELEASED": host}, seeds=seeds)
    assert len(guarded.items) == len(unguarded.items) == len(released.items) == 62
    assert guarded.stat("guard/demoted") > 0
    assert unguarded.stat("guard/demoted") == released.stat("guard/demoted") == 0
    assert guarded.stat("finish_reason") == "finished"


#: A page that is closed to robots, and a file whose type the crawl does not read.
CLOSED = Answer(
    '<meta name="robots" content="noindex,nofollow"><p>text</p><a href="/never">link</a>',
    headers={"Content-Type": "text/html"},
)
UNREAD = Answer("archive", headers={"Content-Type": "application/x-gzip"})


def wiki(articles: int, closed: Answer) -> dict[str, Answer]:
    """Articles that link to the next one, and to pages for editing that answer ``closed``, three of them each."""
    script = {"1/": script_page("/w?title=0")}
    for n in range(articles):
        own = [f"/w?title={n}&action=edit&section={section}" for section in range(3)]
        next_ones = [edit.replace(f"title={n}&", f"title={n + 1}&") for edit in own]
        script[f"1/w?title={n}"] = script_page(*own, *next_ones, f"/w?title={n + 1}", title=words(n, 30))
        script |= {f"1{edit}": closed for edit in own}
    return script


@pytest.mark.parametrize("closed", [CLOSED, UNREAD], ids=["closed", "unread"])
def test_pages_closed_to_robots_and_unread_files_come_last(closed: Answer) -> None:
    """The articles come before most pages that a wiki excludes from indexes; those are fetched, too."""
    with scripted_site(1) as site:
        site.script = wiki(40, closed)
        ours = run_on(site, WEB, settings=IMPOLITE, seeds=f"{site.origins[0]}/")
    places = [place for place in ours.site.places() if "title" in place and not FAR(place)]
    articles = [number for number, place in enumerate(places) if "edit" not in place]
    assert len(articles) == 40 + 1  # the last link is broken
    assert articles[-1] < 40 + 2 * GuardLimits.CLOSED_FROM
    assert len(places) == 40 + 1 + 3 * 41
    assert ours.stat("guard/closed_patterns") == 1


def archive(count: int) -> dict[str, Answer]:
    """Messages that link to the next one and to two views of it: its source, and the message in other colours."""
    names = [words(n, 2).replace(" ", "@") for n in range(count)]
    script = {"1/": script_page(f"/m/{names[0]}/")}
    for n, name in enumerate(names):
        views = [f"/m/{each}/{view}" for each in names[n : n + 2] for view in ("raw", "?colour=2")]
        message = script_page(*views, *(f"/m/{each}/" for each in names[n + 1 : n + 2]), title=words(n, 60))
        script |= {f"1/m/{name}/": message, f"1/m/{name}/?colour=2": message}
        script[f"1/m/{name}/raw"] = Answer(words(n, 60), headers={"Content-Type": "text/plain"})
    return script


def test_views_of_a_page_come_last(tmp_path: Path) -> None:
    """Once six showed nothing else, although each has a pattern of its own; also after a restart. Few follow."""
    with scripted_site(1) as site:
        site.script = archive(40)
        settings = {**IMPOLITE, "JOBDIR": str(tmp_path / "job")}
        runs = [
            run_on(site, WEB, settings=settings, seeds=f"{site.origins[0]}/", max_pages=pages) for pages in ("45", "0")
        ]
    places = [place for place in runs[-1].site.places() if "/m/" in place and not FAR(place)]  # of both runs
    messages = [number for number, place in enumerate(places) if place.endswith("/")]
    assert len(messages) == 40
    assert messages[-1] < 40 + 3 * IdleParts.MIN_COPIES
    assert len(places) - 40 <= 2 * (IdleParts.MIN_COPIES + GuardLimits.max_versions) + 10
    assert runs[0].stat("guard/idle_parts") == 2
