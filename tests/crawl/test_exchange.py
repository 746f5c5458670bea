"""A crawl whose URLs all come from an exchange of workers is the crawl that it would have been without one."""

from pathlib import Path
from typing import Any

from tests.crawl.crawling import NO_HEARTBEAT, PROMPT
from tests.crawl.differential import QUICK, run
from tests.crawl.scripted_site import Answer, Script, Site, redirect

SENT = "tests.crawl.worker_spiders.SentSpider"


def anchors(*links: tuple[str, str]) -> Answer:
    body = "".join(f'<a class="{kind}" href="{href}">x</a>' for kind, href in links)
    return Answer(f"<html><body>{body}</body></html>", headers={"Content-Type": "text/html"})


def script(site: Site) -> Script:
    """Links in bulk, requests, a redirect to the other server, failures, and a link that cannot be sent."""
    return {
        "1/": anchors(("bulk", "/a"), ("bulk", site.url("2/b")), ("one", "/c"), ("odd", "/odd")),
        "1/a": anchors(("bulk", "/"), ("bulk", "/c"), ("one", site.url("2/d"))),
        "2/b": redirect(site.url("1/moved")),
        "1/c": Answer(status=500),
        "2/d": anchors(("one", "/d"), ("bulk", site.url("1/a"))),
        "1/moved": anchors(("bulk", "/a")),
    }


def test_all_urls_travel_and_all_pages_are_fetched(tmp_path: Path) -> None:
    """Each once, the failing one with its retries. Nobody waits for the engine's heartbeat."""
    settings: dict[str, Any] = {**QUICK, **NO_HEARTBEAT, "FRONTIER_DIR": str(tmp_path), "RETRY_TIMES": 2}
    ours = run(SENT, script, servers=2, settings=settings, start="1/,2/d")
    assert ours.reason == "finished"
    assert ours.asked() == {"1/": 1, "1/a": 1, "2/b": 1, "1/c": 3, "2/d": 1, "1/moved": 1}
    assert [item["error"] for item in ours.items("failed")] == ["IgnoreRequest"]
    assert ours.stat("frontier/unserializable/lost") == 1
    assert ours.stat("frontier/received") == ours.stat("frontier/links/sent") + ours.stat("scheduler/enqueued/sent")
    # The first links to 2/b and 1/a. 1/ and 1/c were sent before, as requests.
    assert ours.stat("frontier/links/sent") == 2
    assert ours.stat("frontier/links/new") == 0
    assert ours.stat("loop/opened") == ours.stat("loop/closed") == 1
    assert ours.stat("loop/held") > 0
    assert ours.stat("frontier/urls") == 0
    assert "Traceback" not in ours.crawl.log
    assert ours.stat("elapsed_time_seconds") < PROMPT
