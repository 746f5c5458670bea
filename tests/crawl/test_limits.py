"""Limits and filters in real crawls, judged by the log of the servers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Site, page, redirect, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
ROBOTS = Answer("User-agent: *\nAllow: /\n")


def run(site: Site, job: Path, *seeds: str, **arguments: str) -> Crawl:
    settings = {
        **IMPOLITE,
        "LOG_LEVEL": "INFO",
        "JOBDIR": str(job),
        "ROBOTSTXT_OBEY": True,
        "FRONTIER_GUARD_ENABLED": False,
    }
    result = crawl(WEB, settings=settings, seeds=",".join(site.url(place) for place in seeds), **arguments)
    assert result.exit_code == 0, result.log
    return result


def test_max_pages_counts_pages(tmp_path: Path) -> None:
    """Not robots.txt, redirects or errors; not one more is asked for, and the next run fetches all the rest."""
    places = [f"/{number}" for number in range(12)]
    with scripted_site(4) as site:
        links = [site.url(f"{server}{path}") for server in (1, 2, 3, 4) for path in (*places, "/gone", "/moved")]
        site.script = {"/robots.txt": ROBOTS, "1/": page(*links), **{path: page(title=path) for path in places}}
        site.script |= {f"{server}/moved": redirect("/0") for server in (1, 2, 3, 4)}
        first = run(site, tmp_path / "job", "1/", max_pages="7")
        assert len(first.items) == first.stat("frontier/pages") == 7
        assert first.stat("finish_reason") == "closespider_pagecount"
        rest = run(site, tmp_path / "job", "1/")
    assert sorted([*first.urls(), *rest.urls()]) == sorted(
        site.url(place) for place in ["1/", *(f"{server}{path}" for server in (1, 2, 3, 4) for path in places)]
    )


def test_server_limits_and_filters_hold(tmp_path: Path) -> None:
    """Three pages of a server over all runs; patterns apply to links; a denied server gets no request at all."""
    with scripted_site(4) as site:
        denied, deny = site.url("3/"), tmp_path / "deny.txt"
        deny.write_text(denied.split("/")[2])
        pages = {f"/docs/{number}": page(title=str(number)) for number in range(9)}
        links = [site.url(f"1{path}") for path in pages]
        links += [site.url(place) for place in ("2/docs/a", "2/docs/print", "2/else", "2/docs/away", "3/docs/x")]
        site.script = {
            "/robots.txt": ROBOTS,
            "1/": page(*links),
            **pages,
            "2/docs/a": page(),
            "2/docs/away": redirect(denied),
        }
        limits = {"include": "/docs/", "exclude": "*/print$", "deny": str(deny)}
        first = run(site, tmp_path / "job", "1/", max_pages_per_server="3", **limits)
        assert len(site.places(1)) == len(set(site.places(1))) == 3
        assert sorted(site.places(2)) == ["2/docs/a", "2/docs/away"]
        assert site.of(3) == []
        assert first.stat("fates/link/excluded") == 2
        assert first.stat("fates/link/denied") == 1
        assert first.stat("fates/request/denied") == 1
        assert first.stat("fates/queue/page_limit") == 7
        assert first.stat("finish_reason") == "finished"
        again = run(site, tmp_path / "job", "1/", max_pages_per_server="3", **limits)
        assert (again.items, len(site.places(1))) == ([], 3)
        more = run(site, tmp_path / "job", "1/", max_pages_per_server="5", **limits)
        assert len(more.items) == 2
        assert len(site.places(1)) == len(set(site.places(1))) == 5
        assert site.of(3) == []


def test_limits_of_bytes_and_of_requests_hold(tmp_path: Path) -> None:
    """Requests to a full server fail in the errback of an ordinary spider; a crawl ends when it has read its bytes."""
    with scripted_site(1) as site:
        site.script = {"/robots.txt": ROBOTS, "1/": page(*[f"/{n}" for n in range(50)])}
        site.script |= {f"1/{n}": page(title="x" * 2000) for n in range(50)}
        settings = {**IMPOLITE, "LOG_LEVEL": "INFO", "FRONTIER_MAX_PAGES_PER_SERVER": 4}
        root = site.url("1/").rstrip("/")
        result = crawl("tests.crawl.spiders.ErrbackSpider", settings=settings, root=root, count="9")
        assert result.stat("finish_reason") == "finished"
        assert Counter(item["error"] for item in result.items) == {None: 4, "IgnoreRequest": 5}
        assert result.stat("frontier/pages") == 4
        site.asked.clear()
        result = run(site, tmp_path / "job", "1/", max_bytes="20000")
        assert result.stat("finish_reason") == "closespider_bytes"
        assert 8 <= len(site.places(1)) < 20
