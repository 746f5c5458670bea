"""Rendered pages in a crawl: steps, redirects, politeness, WARC files, and what is missing."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scrapy.utils.test import get_crawler
from warcio.archiveiterator import ArchiveIterator

from crawlproject.options.rendering import RenderOptions
from crawlproject.repository import PageIndex, WarcFiles
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Site, page, redirect, scripted_site
from tests.crawl.test_outages import NO_NETWORK, ONE
from tests.processes import run_python

WISH = "tests.download.rendering.render_spiders.WishSpider"
WEB = "crawlproject.spiders.web.WebSpider"
HTML = {"Content-Type": "text/html"}
JS = {"Content-Type": "text/javascript", "Cache-Control": "max-age=600"}


def html(body: str, **headers: str) -> Answer:
    return Answer(f"<!doctype html><title>x</title><body>{body}</body>", headers={**HTML, **headers})


def scripted(script: str) -> Answer:
    return html(f"<a href=/fetched>x</a><script>{script}</script>")


LIST = """let n = 0;
const more = () => { if (n < 30) document.body.insertAdjacentHTML('beforeend',
    `<div style=height:2000px><a href=/more${n++}>x</a></div>`) };
more();
addEventListener('scroll', () => setTimeout(more, 50));"""

PAGES: dict[str, Answer] = {
    "/never": scripted("document.body.append('RENDERED')"),
    "/always": scripted("document.body.append('RENDERED')"),
    "/auto": html("<div id=root></div><script>document.body.append('RENDERED')</script>"),
    "/auto-text": html(f"<p>{'Many words. ' * 100}</p><script>document.body.append('REN' + 'DERED')</script>"),
    "/click": html("<button id=b onclick=\"document.body.append('CLICKED')\">b</button>"),
    "/unclicked": html("<button id=b onclick=\"document.body.append('CLI' + 'CKED')\">b</button>"),
    "/wait": scripted("setTimeout(() => { document.body.innerHTML = '<i class=late>LATE</i>' }, 1500)"),
    "/scroll": scripted(LIST),
    "/missing": scripted("document.body.append('RENDERED')"),
    "/base": scripted("history.pushState({}, '', '/shop/items/'); document.body.innerHTML = '<a href=1>x</a>'"),
    "/shadow": html(
        "<p id=host></p><script>document.getElementById('host').attachShadow({mode: 'open'}).innerHTML ="
        " '<a href=/in-shadow>x</a>'</script>"
    ),
    "/images": scripted(
        "document.body.innerHTML = '<img src=/x.png><video src=/x.mp4></video>';"
        "new FontFace('f', 'url(/x.woff2)').load().catch(() => 0).then(() => document.body.append('RENDERED'))"
    ),
    "/cyrillic": Answer(
        "<title>x</title><body>привет<script>document.body.append(' мир')</script>".encode("cp1251"),
        headers={"Content-Type": "text/html; charset=windows-1251"},
    ),
    "/compressed": Answer(
        gzip.compress(b"<title>x</title><body><script src=/script.js></script>"),
        headers={**HTML, "Content-Encoding": "gzip"},
    ),
    "/policy": html("<script src=/script.js></script>", **{"Content-Security-Policy": "default-src 'self'"}),
    "/posts": scripted(
        "fetch('/api', {method: 'POST', body: 'x=1'}).then(r => r.text()).then(t => document.body.append(t));"
        "fetch('/api', {method: 'DELETE'}).catch(() => 0)"
    ),
    "/cors": scripted("fetch('OTHER/api').then(r => r.text()).then(t => document.body.append(t))"),
    "/nonsense": scripted("document.body.append('RENDERED')"),
    "/error": Answer("<title>x</title><script>document.write('RENDERED')</script>", status=404, headers=HTML),
    "/text": Answer("<script>document.write('RENDERED')</script>", headers={"Content-Type": "text/plain"}),
    "/script.js": Answer("document.body.append('RENDERED')", headers=JS),
    "/api": Answer("ANSWERED", headers={"Content-Type": "text/plain", "Access-Control-Allow-Origin": "*"}),
}

WISHES: dict[str, Any] = {
    "/never": "never",
    "/always": True,
    "/auto": {"mode": "auto"},
    "/auto-text": "auto",
    "/click": ["click #b"],
    "/unclicked": True,
    "/wait": ["wait .late"],
    "/scroll": ["scroll 4"],
    "/missing": ["click #nothing", "wait #neither"],
    "/nonsense": ["dance"],
    **dict.fromkeys(
        ["/base", "/shadow", "/images", "/cyrillic", "/compressed", "/policy", "/posts", "/cors"], "always"
    ),
    **dict.fromkeys(["/error", "/text"], "always"),
}


class Outcome(NamedTuple):
    """A crawl of all pages by two servers, the second of which speaks https."""

    crawl: Crawl
    items: dict[str, dict[str, Any]]
    site: Site
    folder: Path


@pytest.fixture(scope="module")
def outcome(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """One crawl; with a repository."""
    folder = tmp_path_factory.mktemp("rendered")
    with scripted_site(2, tls=(2,)) as site:
        other = str(PAGES["/cors"].body).replace("OTHER", site.origins[1])
        site.script = {**PAGES, "/cors": Answer(other, headers=HTML)}
        settings = {
            **IMPOLITE,
            "FRONTIER_REPOSITORY_DIR": str(folder),
            "LOG_LEVEL": "INFO",
            "HTTPERROR_ALLOW_ALL": True,
        }
        wishes = {site.url(f"1{path}"): wish for path, wish in WISHES.items()}
        wishes[site.url("2/always")] = True
        result = crawl(WISH, settings=settings, wishes=json.dumps(wishes))
        assert result.exit_code == 0, result.log
        items = {site.short(item["url"]): item for item in result.items}
        yield Outcome(result, items, site, folder)


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("1/always", "RENDERED</body>"),
        ("1/auto", "RENDERED</body>"),
        ("1/click", "</button>CLICKED"),
        ("1/wait", ">LATE</i>"),
        ("1/missing", "RENDERED</body>"),
        ("1/images", "RENDERED</body>"),
        ("1/cyrillic", "привет"),
        ("1/compressed", "RENDERED</body>"),
        ("1/policy", "RENDERED</body>"),
        ("1/posts", "ANSWERED</body>"),
        ("1/cors", "ANSWERED</body>"),
        ("2/always", "RENDERED</body>"),
    ],
)
def test_dom_is_what_scripts_made(outcome: Outcome, place: str, text: str) -> None:
    """The response has the DOM as text, and its links."""
    item = outcome.items[place]
    assert text in item["text"]
    assert "rendered" in item["flags"]
    assert item["status"] == 200


@pytest.mark.long
@pytest.mark.parametrize("place", ["1/never", "1/auto-text", "1/error", "1/text", "1/nonsense"])
def test_other_pages_are_as_fetched(outcome: Outcome, place: str) -> None:
    """By wish, by their text, their status, their type, or because the wish is none."""
    assert "rendered" not in outcome.items[place]["flags"]
    assert "RENDERED</body>" not in outcome.items[place]["text"]


@pytest.mark.long
def test_links_are_those_of_the_browser(outcome: Outcome) -> None:
    """Relative to where a script went, and those in shadow roots; nothing is clicked without a step."""
    assert outcome.items["1/base"]["links"] == [outcome.site.url("1/shop/items/1")]
    assert outcome.items["1/shadow"]["links"] == [outcome.site.url("1/in-shadow")]
    assert 3 <= len(outcome.items["1/scroll"]["links"]) <= 8
    assert "</button>CLICKED" not in outcome.items["1/unclicked"]["text"]


@pytest.mark.long
def test_requests_of_pages_are_polite(outcome: Outcome) -> None:
    """One at a time for each server, no images, fonts and videos, no DELETE."""
    asked = outcome.site.of(1)
    assert outcome.site.most_at_once(1) == 1
    paths = [one.path for one in asked]
    assert not {"/x.png", "/x.mp4", "/x.woff2", "/favicon.ico"} & set(paths)
    assert 1 <= paths.count("/script.js") <= 2, "kept, unless two pages ask for it at once"
    assert {one.method for one in asked if one.path == "/api"} == {"POST"}
    assert all(paths.count(path) == 1 for path in WISHES if path != "/cors")
    agents = {one.headers["user-agent"] for one in asked}
    assert len(agents) == 1, "the crawl's, not the browser's"
    assert all("proxy" not in name for one in asked for name in one.headers)


@pytest.mark.long
def test_what_is_wrong_is_counted_and_logged_once(outcome: Outcome) -> None:
    """A step without its element, a wish without a meaning."""
    stat = outcome.crawl.stat
    assert stat("render/failed_steps") == outcome.crawl.log.count("Step failed on") == 1
    assert stat("render/bad_meta") == outcome.crawl.log.count("must be 'scroll'") == 1
    assert [name for name in outcome.crawl.stats if name.startswith("render/failed/")] == []
    assert stat("log_count/ERROR") == 1


@pytest.mark.long
def test_response_time_is_the_servers(outcome: Outcome) -> None:
    """Without the time in the browser, which is longer than a second for this page."""
    assert outcome.items["1/wait"]["response_time"] < 1.0


@pytest.mark.long
def test_warc_files_keep_both(outcome: Outcome) -> None:
    """The page as received, and its DOM as a conversion that refers to it; other software reads them."""
    received: dict[str, tuple[str, bytes]] = {}
    converted: dict[str, tuple[str, bytes]] = {}
    for path in WarcFiles(outcome.folder).finished():
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                get = record.rec_headers.get_header
                place = outcome.site.short(get("WARC-Target-URI") or "")
                if record.rec_type in ("response", "revisit"):
                    received[place] = get("WARC-Record-ID"), record.raw_stream.read()
                elif record.rec_type == "conversion":
                    assert get("Content-Type") == "text/html; charset=utf-8"
                    converted[place] = get("WARC-Refers-To"), record.raw_stream.read()
    assert set(converted) == {place for place, item in outcome.items.items() if "rendered" in item["flags"]}
    for place, (refers_to, dom) in converted.items():
        assert refers_to == received[place][0]
        assert dom.decode() == outcome.items[place]["text"]
    assert received["1/wait"][1] == str(PAGES["/wait"].body).encode()
    assert outcome.crawl.stat("repository/records/conversion") == len(converted)
    with PageIndex(outcome.folder, read_only=True) as index:
        assert {row.record_type for row in index.rows()} == {"response", "revisit"}


@pytest.mark.long
def test_redirects_by_script_are_followed_by_the_crawl(chromium: str) -> None:
    """So robots.txt, filters and limits apply to where they lead."""
    script = {
        "1/": html("<a href=/a></a><a href=/b></a><a href=/c></a><a href=/secret/page></a>"),
        "1/robots.txt": Answer("User-agent: *\nDisallow: /secret/", headers={"Content-Type": "text/plain"}),
        "1/a": scripted("location = '/target'"),
        "1/b": scripted("setTimeout(() => location.replace('/secret/target'), 100)"),
        "1/c": scripted("fetch('/secret/api').then(r => r.text()).then(t => document.body.append(t))"),
        "1/secret/api": Answer("ANSWERED", headers={"Content-Type": "text/plain"}),
        "1/target": page(title="target"),
    }
    with scripted_site(1) as site:
        site.script = script
        settings = {**IMPOLITE, "FRONTIER_RENDER": "always", "ROBOTSTXT_OBEY": True}
        result = crawl(WEB, settings=settings, seeds=site.url("1/"), body="1")
        assert result.exit_code == 0, result.log
        titles = {site.short(item["url"]): item["title"] for item in result.items}
        assert titles["1/target"] == "target"
        assert "1/a" not in titles
        assert "1/b" not in titles
        assert "ANSWERED" in next(item["body"] for item in result.items if item["url"].endswith("/c"))
        assert [place for place in site.places() if "secret" in place] == ["1/secret/api"]
        assert result.stat("render/redirects") == 2


@pytest.mark.long
def test_redirects_of_resources_are_followed_by_the_browser(chromium: str) -> None:
    """Each as a request of its own."""
    script = {
        "1/": html("<script src=/old.js></script>"),
        "1/old.js": redirect("/new.js"),
        "1/new.js": Answer("document.body.append('RENDERED')", headers=JS),
    }
    with scripted_site(1) as site:
        site.script = script
        result = crawl(WEB, settings={**IMPOLITE, "FRONTIER_RENDER": "always"}, seeds=site.url("1/"), body="1")
        assert "RENDERED</body>" in result.items[0]["body"]
        assert site.places() == ["1/", "1/old.js", "1/new.js"]


NO_CHROMIUM = {"PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": "/nowhere/chromium"}}


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_without_chromium_the_crawl_does_not_start(mode: str) -> None:
    """One line says what is missing."""
    options = f"PLAYWRIGHT_LAUNCH_OPTIONS={json.dumps(NO_CHROMIUM['PLAYWRIGHT_LAUNCH_OPTIONS'])}"
    arguments = ("crawl", "web", "-a", "seeds=http://127.4.0.1/", "-s", f"FRONTIER_RENDER={mode}", "-s", options)
    done = run_python("-m", "scrapy", *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    line = next(line for line in done.stderr.splitlines() if "apt-get" in line)
    assert f"FRONTIER_RENDER={mode!r}: PLAYWRIGHT_LAUNCH_OPTIONS: there is no /nowhere/chromium" in line
    assert "apt-get install chromium" in line


def test_without_chromium_a_wish_costs_one_line() -> None:
    """The pages are processed as they were fetched."""
    with scripted_site(1) as site:
        site.script = PAGES
        wishes = {site.url(f"1{path}"): True for path in ("/always", "/never")}
        result = crawl(WISH, settings={**IMPOLITE, **NO_CHROMIUM}, wishes=json.dumps(wishes))
    assert len(result.items) == 2
    assert result.log.count("Pages are not rendered: ") == result.stat("log_count/ERROR") == 1
    assert result.stat("render/failed/browser") == 2


def test_chromium_is_found_by_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Under any of its names."""
    program = tmp_path / "google-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program) if name == "google-chrome" else None)
    monkeypatch.setattr("crawlproject.options.rendering.FOLDERS", ())
    assert RenderOptions.of(get_crawler()).program() == str(program)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert RenderOptions.of(get_crawler()).program() is None
    with pytest.raises(ValueError, match=r"^FRONTIER_RENDER='never': no Chromium was found; install one"):
        RenderOptions.of(get_crawler()).check()


@pytest.mark.long
def test_an_outage_while_a_page_is_rendered_costs_nothing(chromium: str) -> None:
    """Its scripts cannot be fetched then: it is rendered again when the network works."""
    with scripted_site(5) as site:
        scripts = "".join(f"<script src={site.url(f'{server}/script.js')}></script>" for server in (4, 5))
        site.script = {"/plain": html("x"), "/app": html(scripts), "/script.js": PAGES["/script.js"]}
        wishes = {site.url(f"{server}/plain"): "never" for server in (1, 2, 3)} | {site.url("1/app"): "always"}
        cut_off = {"TEST_NO_NETWORK": {"after": 4, "count": 5, "code": "ENETUNREACH"}}
        result = crawl(WISH, settings=ONE | NO_NETWORK | cut_off, wishes=json.dumps(wishes))
    texts = [item["text"] for item in result.items if item["url"] == site.url("1/app")]
    assert len(texts) == 1
    assert texts[0].count("RENDERED") == 2
    assert site.places(1).count("1/app") == 2
    assert result.stat("frontier/outages") == result.stat("render/failed/outage") == 1
