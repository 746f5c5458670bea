"""Requests that bypass the scheduler (in callbacks, of media pipelines), and those that an errback yields."""

from itertools import pairwise
from pathlib import Path
from signal import SIGINT
from typing import Any

import pytest

from tests.crawl.crawling import PROMPT, TIMEOUT, crawling, read_results
from tests.crawl.differential import QUICK, Run, both, run, run_on
from tests.crawl.scripted_site import Answer, Script, Site, page, redirect, scripted_site

INLINE = "tests.crawl.inline_spiders"
FINE = page(title="fine")


def inline(site: Site) -> Script:
    """Pages with links to follow and to be downloaded in the callback, from their own server and from another."""
    return {
        "1/": page("/next", site.url("2/next"), "/inline", site.url("2/inline"), "/inline/moved"),
        "1/next": FINE,
        "2/next": Answer("x", delay=0.2),
        "1/inline": Answer("one", delay=0.2),
        "2/inline": Answer("two", delay=0.4),
        "1/inline/moved": redirect(site.url("2/target")),
        "2/target": Answer("target"),
        "1/opens": page(site.url("2/inline")),
        "3/": Answer(page(site.url("2/next")).body, headers=FINE.headers, delay=0.2),
        "1/closes": page("/inline/slow"),
        "1/inline/slow": Answer("slow", delay=0.4),
    }


@pytest.mark.parametrize("start", ["1/", "1/opens,3/", "1/closes"], ids=["several", "session-opens", "session-closes"])
def test_inline_requests_are_answered(start: str) -> None:
    """``engine.download_async`` in a callback, whatever happens to the session of its server meanwhile."""
    ours, stock = both(f"{INLINE}.InlineSpider", inline, servers=3, start=start)
    assert ours.items() == stock.items()
    assert ours.asked() == stock.asked()
    assert max(ours.site.most_at_once(server) for server in (1, 2)) == 1
    assert not [one.place for one in ours.site.asked if one.abandoned]


def test_inline_requests_are_answered_with_one_connection_in_all() -> None:
    """Inline requests to another server get the only connection."""
    ours = run(f"{INLINE}.InlineSpider", inline, servers=3, settings={**QUICK, "FRONTIER_MAX_SESSIONS": 1})
    assert len(ours.items("inline")) == 3
    assert len(ours.items("page")) == 2
    assert not [item for item in ours.items() if "error" in item]
    assert ours.site.most_at_once(1, 2) == 1


def files(site: Site) -> Script:
    """A page, and five files on another server."""
    return {"1/": FINE, **{f"2/{number}": Answer(f"file {number}", delay=0.05) for number in range(5)}}


def pipeline(folder: Path, **settings: Any) -> dict[str, Any]:
    return {
        **QUICK,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(folder),
        **settings,
    }


@pytest.mark.parametrize("places", [64, 1])
def test_media_pipeline_gets_its_files(tmp_path: Path, places: int) -> None:
    """Files requested at once arrive one after the other, also if only one connection is allowed."""
    settings = pipeline(tmp_path, FRONTIER_MAX_SESSIONS=places)
    ours = run(f"{INLINE}.FilesSpider", files, servers=2, settings=settings)
    assert [len(item["files"]) for item in ours.items()] == [5]
    assert ours.site.most_at_once(2) == 1
    assert ours.reason == "finished"
    assert not ours.has_errors()


@pytest.mark.parametrize("reset", [False, True])
def test_media_pipeline_obeys_the_delay(tmp_path: Path, reset: bool) -> None:
    """DOWNLOAD_DELAY also holds between these requests, as in Scrapy's downloader, and after failures."""
    script = {"1/": FINE, **{f"2/{number}": Answer("x", delay=0.05, reset=reset) for number in range(5)}}
    settings = pipeline(tmp_path, DOWNLOAD_DELAY=0.2, RETRY_ENABLED=False)
    ours = run(f"{INLINE}.FilesSpider", script, servers=2, settings=settings)
    assert len(ours.site.gaps(2)) == 4
    assert min(ours.site.gaps(2)) >= 0.2


def test_media_of_a_dead_server_fail_at_once(tmp_path: Path) -> None:
    """When it rests for longer than a request may take, instead of after a rest for each file."""
    script = {"1/": FINE, **{f"2/{number}": Answer(reset=True) for number in range(5)}}
    settings = pipeline(
        tmp_path, RETRY_ENABLED=False, FRONTIER_MIN_BACKOFF=30, FRONTIER_MAX_BACKOFF=30, DOWNLOAD_TIMEOUT=20
    )
    ours = run(f"{INLINE}.FilesSpider", script, servers=2, settings=settings)
    assert len(ours.site.places(2)) == 1
    assert ours.stat("frontier/awaited_unsent") == 4
    assert [item["files"] for item in ours.items()] == [[]]
    assert ours.reason == "finished"


def test_items_that_an_early_end_kept_from_an_api_are_sent_by_the_next_run(tmp_path: Path) -> None:
    """Ctrl-C while the API rests after a failure: their page stays in the store."""
    settings = {
        **QUICK,
        **{"JOBDIR": str(tmp_path / "job"), "ITEM_PIPELINES": {f"{INLINE}.PostingPipeline": 1}, "RETRY_ENABLED": False},
        **{"FRONTIER_MIN_BACKOFF": 1000, "FRONTIER_MAX_BACKOFF": 1000, "DOWNLOAD_TIMEOUT": 2000},
    }
    with scripted_site(2) as site:
        site.script = {"1/": FINE, "2/items": Answer(status=503)}
        sites = ",".join(site.origins)
        with crawling(f"{INLINE}.PostingSpider", tmp_path, settings=settings, sites=sites) as process:
            site.wait_for(2)
            process.send_signal(SIGINT)
            assert process.wait(TIMEOUT) == 0
        assert read_results(tmp_path, 0, "").stat("frontier/items_failed") == 7
        with crawling(f"{INLINE}.PostingSpider", tmp_path, settings=settings, sites=sites):
            site.wait_for(3)
        assert site.places() == ["1/", "2/items", "1/"]


def test_media_of_a_busy_server_arrive_after_its_rest(tmp_path: Path) -> None:
    """Its Retry-After is obeyed, and the only connection is free meanwhile."""
    busy = Answer(status=503, headers={"Retry-After": "4"})
    script = {"1/": FINE, **{f"2/{number}": [busy, FINE] if not number else FINE for number in range(5)}}
    settings = pipeline(tmp_path, FRONTIER_MAX_BACKOFF=4, FRONTIER_MAX_SESSIONS=1)
    ours = run(f"{INLINE}.FilesSpider", script, servers=2, settings=settings)
    assert [len(item["files"]) for item in ours.items()] == [5]
    assert ours.site.gaps(2)[0] >= 4
    assert ours.site.most_at_once(2) == 1


def post(answer: Answer | list[Answer], slot: dict[str, Any], **settings: Any) -> Run:
    """Send eight items to an API, whose host has this slot in ``DOWNLOAD_SLOTS``, while all others rest for long."""
    rests = {"FRONTIER_MIN_DELAY": 2 * PROMPT, "FRONTIER_MAX_DELAY": 2 * PROMPT, "DOWNLOAD_SLOTS": {"127.4.0.2": slot}}
    pipelines = {"ITEM_PIPELINES": {f"{INLINE}.PostingPipeline": 1}}
    with scripted_site(2) as site:
        site.script = {"1/": FINE, "2/items": answer}
        ours = run_on(site, f"{INLINE}.PostingSpider", settings=rests | pipelines | settings)
    assert [item["status"] for item in ours.items()] == [200] * 8
    assert ours.stat("elapsed_time_seconds") < PROMPT
    assert not ours.has_errors()
    return ours


def test_concurrency_of_a_host_without_delay_is_the_number_of_its_connections() -> None:
    """It may be in use by several items; their number is never exceeded."""
    site = post(Answer("ok", delay=0.5), {"delay": 0, "concurrency": 4}).site
    assert 1 < site.most_at_once(2) <= 4
    assert len({one.connection for one in site.of(2)}) <= 4


def test_retry_after_holds_for_a_host_without_delay() -> None:
    """For all items, as the last answer asks; requests in flight together are one failure: no server is given up."""
    busy, busy_later = (Answer(status=503, headers={"Retry-After": "2"}, delay=delay) for delay in (0.5, 0.8))
    limits = {"FRONTIER_MIN_BACKOFF": 1, "FRONTIER_MAX_BACKOFF": 2, "FRONTIER_MAX_FAILURES": 4}
    ours = post([busy, busy, busy, busy_later, Answer("ok")], {"delay": 0, "concurrency": 4}, **limits)
    refused, others = ours.site.of(2)[:4], ours.site.of(2)[4:]
    assert len(others) == 8
    assert min(one.started for one in others) >= max(one.ended for one in refused) + 2


def test_a_failing_host_without_delay_is_asked_once_after_each_rest() -> None:
    """Although several requests waited for several connections; these are used again when it answers."""
    answers = [Answer(reset=True)] * 6 + [Answer("ok", delay=0.5)]
    limits = {"FRONTIER_MIN_BACKOFF": 1, "FRONTIER_MAX_BACKOFF": 1, "RETRY_TIMES": 9}
    site = post([*answers], {"delay": 0, "concurrency": 4}, **limits).site
    first, later = site.of(2)[:4], site.of(2)[4:7]
    assert min(after.started - before.ended for before, after in pairwise([first[0], *later])) >= 1
    assert 1 < site.most_at_once(2) <= 4
