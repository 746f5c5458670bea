"""Pages that are bad for a browser cost one stat and one line in the log; the crawl goes on with what was fetched."""

from __future__ import annotations

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Asked, Script, page, scripted_site

pytestmark = pytest.mark.long

HTML = {"Content-Type": "text/html"}

#: Name -> what its script does.
SCRIPTS = {
    "endless": "while (true) {}",
    "endless later": "setTimeout(() => { while (true) {} }, 50)",
    "endless promises": "(function again() { Promise.resolve().then(again) })()",
    "endless worker": "new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))",
    "no answer": "fetch('/late')",
    "endless requests": "setInterval(() => fetch('/ping?' + Math.random()), 20)",
    "alerts": "while (true) alert('x')",
    "pop-ups": "for (let i = 0; i < 10000; i++) window.open('/pop?' + i)",
    "frames": "for (let i = 0; i < 3000; i++) { f = document.createElement('iframe'); f.src = '/frame?' + i;"
    "document.body.append(f) }",
    "leave for nothing": "location = 'about:blank'",
    "redirects": "location = '/redirects?' + Math.random()",
    "redirects in a flood": "setInterval(() => { location = '/p?' + Math.random() }, 1)",
    "download": "location = '/file.zip'",
    "close": "window.close()",
    "memory of buffers": "a = []; while (true) a.push(new Uint8Array(1e8).fill(1))",
    "large text": "document.body.append('x'.repeat(5e7))",
    "deep elements": "e = document.body; for (let i = 0; i < 1e5; i++) { n = document.createElement('div');"
    "e.append(n); e = n }",
    "no dom": "document.documentElement.remove()",
    "no promises": "window.Promise = window.Symbol = window.MutationObserver = window.performance = undefined",
    "liar": "Object.defineProperty(document, 'readyState', {get: () => 'loading'});"
    "performance.now = () => { throw 1 }; Element.prototype.querySelectorAll = null",
}

#: Kinds of failures that a page may have; the others are rendered.
FAILURES = {
    "alerts": {"dialogs"},
    "pop-ups": {"timeout", "popups", ""},
    "frames": {"timeout", "memory", ""},
    "memory of buffers": {"memory", "crashed", ""},  # a slow machine fills none within the time-out
    "large text": {"too_large", "memory", "timeout"},
    "deep elements": {"crashed", "timeout", "script", ""},
    "leave for nothing": {"left"},
    "close": {"crashed", ""},
}

#: Those whose page has no link afterwards, because the script removed it.
EMPTIED = {"no dom"}


def bad_page(name: str) -> str:
    """The page, with a link that it has without its script."""
    return f"<title>{name}</title><body><a href='/linked'>x</a><script>{SCRIPTS[name]}</script></body>"


def crawled(name: str, build: str) -> tuple[Crawl, list[str]]:
    """A crawl from the bad page, which links to another one; the paths requested."""

    def again(_: Asked) -> Answer:
        return Answer(bad_page(name), headers=HTML)

    zip_file = {"Content-Type": "application/zip", "Content-Disposition": "attachment"}
    known: Script = {
        "1/": again,
        "1/linked": page(title="linked"),
        "1/late": Answer(delay=20.0),  # longer than the time-out
        "1/file.zip": Answer(b"PK" * 1000, headers=zip_file),
    }

    class Site(dict[str, object]):
        """The known pages; a redirect by script finds the same page again."""

        def get(self, place: str, default: object = None) -> object:
            return known.get(place) or (again if place.startswith(("1/redirects?", "1/p?")) else default)

    with scripted_site(1) as site:
        site.script = Site()  # type: ignore[assignment]
        settings = {
            **IMPOLITE,
            "FRONTIER_RENDER": "always",
            "FRONTIER_RENDER_TIMEOUT": 5,
            "LOG_LEVEL": "INFO",
            "FRONTIER_GUARD_ENABLED": False,
            "REDIRECT_MAX_TIMES": 3,
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": build},
        }
        result = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=site.url("1/"))
        return result, site.places()


@pytest.mark.parametrize("name", [*SCRIPTS])
def test_page_costs_one_stat_and_one_line(build: str, name: str) -> None:
    """And its link is found: in the DOM, or in the page as it was fetched."""
    result, places = crawled(name, build)
    is_lost = name.startswith("redirects")  # the only seed leads to no page
    assert result.exit_code == is_lost, result.log
    assert "Traceback" not in result.log
    failed = {stat.removeprefix("render/failed/"): count for stat, count in result.stats.items() if "r/failed/" in stat}
    assert set(failed) or "" in FAILURES.get(name, {""}), result.stats
    assert set(failed) <= FAILURES.get(name, set()), result.log
    assert sum(failed.values()) == result.log.count("Not rendered: ") <= 1, result.log
    if is_lost:
        assert result.stat("fates/answer/redirect_limit") == 1
        assert result.stat("render/redirects") == 4
    elif name.startswith("pop-ups"):
        assert not any(place.startswith("1/pop") for place in places)
    elif name == "download":
        assert places == ["1/", "1/file.zip"]
    elif name not in EMPTIED or failed:
        assert "1/linked" in places
    assert result.stat("downloader/response_count") <= len(places)  # some were asked for until the page was closed
    assert result.stat("render/requests") <= 200
